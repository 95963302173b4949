"""`find_blocks`: lists the parts of a page, style sheet or source file, without their content."""

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
from north_lsp.workspace.pagination import plain_lines
from north_lsp.workspace.structure.views import BlockKind, blocks, fitting_kinds
from north_lsp.workspace.workspace import Workspace


class FindBlocksArgs(Arguments):
    path: str = Field(min_length=1)
    kind: BlockKind = "all"


class FindBlocks(ReadTool):
    name = "find_blocks"
    kind = "search"
    discoverable = True
    args = FindBlocksArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Finding blocks in {Path(str(args.get('path', '…'))).name or '…'}"

    async def run(self, args: FindBlocksArgs, workspace: Workspace) -> Output:
        notices = Notices()
        parsed = await parsed_file(args.path, workspace, notices)
        fitting = fitting_kinds(parsed.structure)
        every = await on_thread(blocks, parsed.structure)
        found = [block for block in every if args.kind in ("all", block.kind)]
        if args.kind not in fitting:
            found = []
            notices.append(f"{args.kind} does not fit this file; kinds that do: {', '.join(sorted(fitting))}")
        most = workspace.limits.blocks
        data: dict[str, object] = {
            "path": parsed.resolved.relative,
            "totalLines": len(await on_thread(plain_lines, parsed.text.text)),
            "blocks": [
                {"id": one.id, "label": one.label, "startLine": one.startLine, "endLine": one.endLine}
                for one in found[:most]
            ],
            "truncated": len(found) > most,
        }
        title = f"{self.title({'path': parsed.resolved.relative})} - {len(found)} blocks"
        meta = with_meta(data, notices, backend=parsed.structure.backend)
        return Output(title, meta, locations=(Location(parsed.resolved.path),))
