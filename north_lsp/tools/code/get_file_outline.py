"""`get_file_outline`: shows a file's structure at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.code.structures import Parsed, parsed_file
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.threads import on_thread
from north_lsp.vocabulary import Location
from north_lsp.workspace.pagination import plain_lines
from north_lsp.workspace.structure.views import outline, outline_text
from north_lsp.workspace.workspace import Workspace


class GetFileOutlineArgs(Arguments):
    path: str = Field(min_length=1)


class GetFileOutline(ReadTool):
    name = "get_file_outline"
    kind = "read"
    args = GetFileOutlineArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Outlining {Path(str(args.get('path', '…'))).name or '…'}"

    async def run(self, args: GetFileOutlineArgs, workspace: Workspace) -> Output:
        notices = Notices()
        parsed = await parsed_file(args.path, workspace, notices)
        most = workspace.limits.outline_entries
        data, count = await on_thread(_outlined, parsed, most, notices)
        title = f"{self.title({'path': parsed.resolved.relative})} - {count} entries"
        meta = with_meta(data, notices, backend=parsed.structure.backend, source=parsed.source)
        return Output(title, meta, locations=(Location(parsed.resolved.path),))


def _outlined(parsed: Parsed, most: int, notices: Notices) -> tuple[dict[str, object], int]:
    """Return the result's data, and how many entries there are."""
    lines = plain_lines(parsed.text.text)
    entries = outline(parsed.structure, lines)
    shown = entries[:most]
    if len(entries) > most:
        notices.append(f"the outline has {len(entries)} entries; it continues at line {entries[most].startLine}")
    data: dict[str, object] = {
        "path": parsed.resolved.relative,
        "totalLines": len(lines),
        "entries": [
            {
                "label": one.label,
                "kind": one.kind,
                "startLine": one.startLine,
                "endLine": one.endLine,
                "depth": one.depth,
            }
            for one in shown
        ],
        "outline": outline_text(shown),
        "truncated": len(entries) > most,
    }
    return data, len(entries)
