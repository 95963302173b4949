"""A work tree for as long as something is done in it; however that ends, the tree is removed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.from_thread
import anyio.to_thread

from north_lsp.agent.session.model_turns import TurnMeans
from north_lsp.agent.subagents.agent_editor import AgentEditor
from north_lsp.agent.subagents.place import Place, place_in
from north_lsp.agent.subagents.work_tree import WorkTree, clear_left_trees, make_tree
from north_lsp.workspace.workspace import Workspace


@asynccontextmanager
async def own_tree(means: TurnMeans, workspace: Workspace, name: str, editor: AgentEditor) -> AsyncIterator[Place]:
    """Make a work tree for an agent, and remove it in the end. Raises ToolError."""
    unsaved = await workspace.unsaved_texts()
    await editor.act("making its work tree")
    folder = means.environment.locations.work_trees

    def step(files: int) -> None:
        anyio.from_thread.check_cancelled()
        if files:
            anyio.from_thread.run(editor.act, f"making its work tree: {files:,} files")

    def made() -> WorkTree:
        clear_left_trees(folder)
        return make_tree(folder, f"{means.stored.conversation.id}-{name}", workspace, unsaved, step)

    tree = await anyio.to_thread.run_sync(made)
    try:
        yield await anyio.to_thread.run_sync(place_in, tree, workspace)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(tree.remove)
