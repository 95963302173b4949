"""`hotfiles`: lists the files that change most."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.texts import resolve_existing
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.files.statistics import hot_files
from north_lsp.workspace.workspace import Workspace


class HotfilesArgs(Arguments):
    limit: int = Field(10, ge=1, description="At most 50.")
    path: str | None = Field(None, description="Only files in this folder.")


class Hotfiles(ReadTool):
    name = "hotfiles"
    kind = "read"
    discoverable = True
    args = HotfilesArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Finding files that change most"

    async def run(self, args: HotfilesArgs, workspace: Workspace) -> Output:
        notices = Notices()
        limit = notices.at_most(args.limit, workspace.limits.hotfiles, "limit")
        root, below = workspace.roots.main, ""
        if args.path is not None:
            place, notice = await resolve_existing(args.path, workspace)
            notices += [notice] if notice is not None else []
            root, below = place.root, place.path.relative_to(place.root).as_posix()
        found = await on_thread(hot_files, workspace.trees, root, below, limit)
        files = [
            {"path": one.path, "changes": one.changes, "lastChanged": one.last_changed, "score": one.score}
            for one in found.files
        ]
        title = f"{self.title({})} - {len(files)} files"
        return Output(title, with_meta({"files": files, "source": found.source}, notices))
