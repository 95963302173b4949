"""`find_code_block`: finds the function, class or block that has a name or contains a text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.code.structures import parsed_file
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.threads import on_thread
from north_lsp.vocabulary import Location
from north_lsp.workspace.pagination import plain_lines
from north_lsp.workspace.structure.views import CodeKind, code_blocks
from north_lsp.workspace.workspace import Workspace

_SNIPPET = 5
_LINE = 500


class FindCodeBlockArgs(Arguments):
    path: str = Field(min_length=1)
    query: str = Field(min_length=1, description="A name, or a text in the block.")
    kind: CodeKind = "any"


class FindCodeBlock(ReadTool):
    name = "find_code_block"
    kind = "search"
    args = FindCodeBlockArgs

    def title(self, args: dict[str, Any]) -> str:
        return f'Finding "{args.get("query", "…")}" in {Path(str(args.get("path", "…"))).name or "…"}'

    async def run(self, args: FindCodeBlockArgs, workspace: Workspace) -> Output:
        notices = Notices()
        parsed = await parsed_file(args.path, workspace, notices)
        text = parsed.text.text
        found = await on_thread(code_blocks, parsed.structure, text, args.query, args.kind)
        lines = await on_thread(plain_lines, text)
        hint = None
        if not found:
            if args.query.casefold() not in text.casefold():
                shown = repr(args.query[:200])
                raise ToolError("NO_MATCH", f"{parsed.resolved.relative} does not contain {shown}", "use search_text")
            hint = "the text is there, but not in such a block: use find_blocks or read_around"
        most = workspace.limits.code_blocks
        matches = [
            {
                "startLine": one.start,
                "endLine": one.end,
                "snippet": "\n".join(
                    line[:_LINE] for line in lines[one.start - 1 : min(one.end, one.start + _SNIPPET - 1)]
                ),
                "kind": one.kind,
                "name": one.name,
            }
            for one in found[:most]
        ]
        data: dict[str, object] = {
            "path": parsed.resolved.relative,
            "matches": matches,
            "truncated": len(found) > most,
        }
        if hint is not None:
            data["hint"] = hint
        title = f"{self.title({'path': parsed.resolved.relative, 'query': args.query})} - {len(found)} matches"
        places = tuple(Location(parsed.resolved.path, one.start) for one in found[:most])
        return Output(title, with_meta(data, notices, backend=parsed.structure.backend), locations=places)
