"""`list_root`: lists the entries of a workspace root."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.files.listing import list_root
from north_lsp.workspace.workspace import Workspace


class ListRootArgs(Arguments):
    root: str | None = Field(None, description="The name of a further root; without it, the main one.")


class ListRoot(ReadTool):
    name = "list_root"
    kind = "read"
    args = ListRootArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Listing project files"

    async def run(self, args: ListRootArgs, workspace: Workspace) -> Output:
        names = workspace.roots.names()
        root = (
            workspace.roots.main
            if args.root in (None, "", ".", workspace.roots.main.name)
            else names.get(str(args.root))
        )
        if root is None:
            known = ", ".join(names) or "there is only the main one"
            raise ToolError("NOT_FOUND", f"there is no root called {args.root!r}", f"further roots: {known}")
        rules, most = workspace.trees.rules[root], workspace.limits.root_entries
        entries, truncated = await on_thread(lambda: list_root(root, rules, most, workspace.trees.left_out()))
        data: dict[str, object] = {"root": str(root), "entries": entries, "truncated": truncated}
        if problems := workspace.trees.problems():
            data["meta"] = {"notices": problems}
        if names and root == workspace.roots.main:
            data["furtherRoots"] = list(names)
        return Output(f"Listing project files - {len(entries)}{'+' if truncated else ''} entries", data)
