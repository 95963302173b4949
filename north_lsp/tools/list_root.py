"""`list_root`: the entries of the workspace root."""

from typing import Any

import anyio.to_thread

from north_lsp.tools.base import Output, ReadTool, Workspace
from north_lsp.tools.registry import Arguments
from north_lsp.workspace.listing import list_root


class ListRootArgs(Arguments):
    pass


class ListRoot(ReadTool):
    name = "list_root"
    kind = "read"
    args = ListRootArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Listing project files"

    async def run(self, args: ListRootArgs, workspace: Workspace) -> Output:
        root = workspace.roots.main
        entries, truncated = await anyio.to_thread.run_sync(list_root, root, workspace.ignore[root])
        data = {"root": str(root), "entries": entries, "truncated": truncated}
        return Output(f"Listing project files - {len(entries)} entries", data)
