"""`get_line_count`: tells how large a text file is, before it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.texts import resolve_existing, shown_text
from north_lsp.tools.support.threads import on_thread, stoppable
from north_lsp.vocabulary import Location
from north_lsp.workspace.pagination import plain_lines, stream_part
from north_lsp.workspace.workspace import Workspace

_WHOLE = 200
_CHARACTERS_PER_TOKEN = 4


class GetLineCountArgs(Arguments):
    path: str = Field(min_length=1)


class GetLineCount(ReadTool):
    name = "get_line_count"
    kind = "read"
    discoverable = True
    args = GetLineCountArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Checking size of {Path(str(args.get('path', '…'))).name or '…'}"

    async def run(self, args: GetLineCountArgs, workspace: Workspace) -> Output:
        notices = Notices()
        resolved, notice = await resolve_existing(args.path, workspace)
        notices += [notice] if notice else []
        try:
            text, source = await shown_text(resolved.path, workspace)
            lines = len(await on_thread(plain_lines, text.text))
        except ToolError as error:
            if error.code != "TOO_LARGE":
                raise
            part = await stoppable(lambda over: stream_part(resolved.path, 1, 1, should_stop=over))
            text, lines, source = part.text, part.total, "disk"
        data: dict[str, object] = {
            "path": resolved.relative,
            "lines": lines,
            "bytes": text.size,
            "estimatedTokens": -(-text.size // _CHARACTERS_PER_TOKEN),
            "newline": text.newline,
            "encoding": "utf-8-bom" if text.form.bom == b"\xef\xbb\xbf" else text.form.encoding,
            "advice": "read whole" if lines <= _WHOLE else "use outline first",
        }
        title = f"{self.title({'path': resolved.relative})} - {lines} lines"
        return Output(title, with_meta(data, notices, source=source), locations=(Location(resolved.path),))
