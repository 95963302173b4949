"""`list_root`: the entries of the workspace root."""

from typing import Any, ClassVar, Literal

import anyio.to_thread

from north_lsp.tools.base import Kind, Mode, Output, Workspace
from north_lsp.tools.registry import Arguments
from north_lsp.workspace.listing import list_root


class ListRoot:
    class Args(Arguments):
        pass

    name: ClassVar[str] = "list_root"
    kind: ClassVar[Kind] = "read"
    modes: ClassVar[frozenset[Mode]] = frozenset({"ask", "agent"})
    parallel: ClassVar[bool] = True
    approval: ClassVar[Literal["none"]] = "none"

    def title(self, args: dict[str, Any]) -> str:
        return "Listing project files"

    async def run(self, args: Args, workspace: Workspace) -> Output:
        root = workspace.roots.main
        entries, truncated = await anyio.to_thread.run_sync(list_root, root, workspace.ignore[root])
        data = {"root": str(root), "entries": entries, "truncated": truncated}
        return Output(f"Listing project files - {len(entries)} entries", data)
