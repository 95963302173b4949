"""`get_file_symbols`: lists the functions, classes and types of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.code.structures import parsed_file
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.threads import on_thread
from north_lsp.vocabulary import Location
from north_lsp.workspace.structure.parsing import is_symbol
from north_lsp.workspace.workspace import Workspace

_PAGES = frozenset({"html", "css", "scss", "less", "vue", "svelte"})


class GetFileSymbolsArgs(Arguments):
    path: str = Field(min_length=1)


class GetFileSymbols(ReadTool):
    name = "get_file_symbols"
    kind = "read"
    args = GetFileSymbolsArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Extracting symbols from {Path(str(args.get('path', '…'))).name or '…'}"

    async def run(self, args: GetFileSymbolsArgs, workspace: Workspace) -> Output:
        notices = Notices()
        parsed = await parsed_file(args.path, workspace, notices)
        hint = None
        found = await on_thread(lambda: [symbol for symbol in parsed.structure.symbols if is_symbol(symbol)])
        if parsed.language in _PAGES:
            found, hint = [], "use find_blocks for pages and style sheets"
        elif parsed.structure.backend == "none":
            hint = "no symbols are known for this kind of file: use get_file_outline"
        most = workspace.limits.symbols
        symbols: list[dict[str, object]] = [
            {"name": one.name, "type": one.kind, "line": one.line, "endLine": one.end, "signature": one.label}
            | ({"parent": one.parent} if one.parent is not None else {})
            for one in found[:most]
        ]
        data: dict[str, object] = {
            "path": parsed.resolved.relative,
            "language": parsed.language,
            "symbols": symbols,
            "truncated": len(found) > most,
        }
        if hint is not None:
            data["hint"] = hint
        title = f"{self.title({'path': parsed.resolved.relative})} - {len(found)} symbols"
        meta = with_meta(data, notices, backend=parsed.structure.backend, source=parsed.source)
        return Output(title, meta, locations=(Location(parsed.resolved.path),))
