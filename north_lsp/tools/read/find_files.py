"""`find_files`: finds paths that match a glob."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Digest, Output, ReadTool
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.texts import resolve_readable
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.search.find_files import find_files
from north_lsp.workspace.workspace import Workspace

_DIGEST = 20


class FindFilesArgs(Arguments):
    pattern: str = Field(min_length=1, description="A glob, for example `*.py`, `src/**/test_*.{ts,tsx}`.")
    path: str | None = Field(None, description="A folder to look in.")
    limit: int = Field(50, ge=1, description="At most 500.")
    hidden: bool = Field(False, description="Also files whose name, or a parent folder's, begins with a dot.")
    type: Literal["file", "dir"] | None = Field(None, description="Default: `file`.")
    sort: Literal["path", "mtime"] = Field("path", description="`mtime`: newest first.")


class FindFiles(ReadTool):
    name = "find_files"
    kind = "search"
    args = FindFilesArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Finding {args.get('pattern', '…')}"

    async def run(self, args: FindFilesArgs, workspace: Workspace) -> Output:
        notices = Notices()
        limit = notices.at_most(args.limit, workspace.limits.files, "limit")
        place = await resolve_readable(args.path, workspace) if args.path is not None else None
        work = partial(
            find_files,
            workspace.trees,
            args.pattern,
            place=place,
            folders=args.type == "dir",
            hidden=args.hidden,
            newest_first=args.sort == "mtime",
        )
        found = await on_thread(work)
        notices += workspace.trees.problems()
        files, truncated = found[:limit], len(found) > limit
        data: dict[str, object] = {"files": files, "total": len(found), "truncated": truncated}
        digest = None
        if len(files) > _DIGEST:
            short = data | {"files": [*files[:_DIGEST], f"... {len(files) - _DIGEST} more"], "truncated": True}
            more = f"the first {_DIGEST} of {len(files)} files"
            digest = Digest(with_meta(short, notices), "\n".join(files), more, ((1, _DIGEST),))
        title = f"{self.title({'pattern': args.pattern})} - {len(files)}{'+' if truncated else ''} files"
        return Output(title, with_meta(data, notices), digest=digest)
