"""A work tree for as long as something is done in it; however that ends, the tree is removed."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
import anyio.from_thread
import anyio.to_thread

from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.agent.subagents.agent_editor import AgentEditor
from north_lsp.agent.subagents.place import Place, place_in
from north_lsp.agent.subagents.work_tree import WorkTree, clear_left_trees, make_tree
from north_lsp.background import Background
from north_lsp.workspace.workspace import Workspace

_PATIENCE_SECONDS = 0.1
"""How long a cancel waits for a removal: that of a large tree takes seconds."""


@asynccontextmanager
async def own_tree(means: TurnMeans, workspace: Workspace, name: str, editor: AgentEditor) -> AsyncIterator[Place]:
    """Make a work tree for an agent, and remove it in the end. Raises ToolError."""
    unsaved = await workspace.editor.unsaved_texts()
    await editor.act("making its work tree")
    folder, background = means.environment.locations.work_trees, means.environment.background

    def step(files: int) -> None:
        anyio.from_thread.check_cancelled()
        if files:
            anyio.from_thread.run(editor.act, f"making its work tree: {files:,} files")

    def made() -> WorkTree:
        clear_left_trees(folder)
        return make_tree(folder, f"{means.stored.conversation.id}-{name}", workspace, unsaved, step)

    remove: Callable[[], None] = partial(clear_left_trees, folder)
    patience = math.inf
    try:
        tree = await anyio.to_thread.run_sync(made)
        remove = tree.remove
        yield await anyio.to_thread.run_sync(place_in, tree, workspace)
    except anyio.get_cancelled_exc_class():
        patience = _PATIENCE_SECONDS
        raise
    finally:
        await _removed(remove, background, patience)


async def _removed(remove: Callable[[], None], background: Background, patience: float) -> None:
    """Remove a tree, also in a task that is cancelled; what takes longer than that many seconds continues without it. A
    failure is told by the background: what is left is removed later (`clear_left_trees`)."""
    gone = anyio.Event()

    async def run() -> None:
        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove)
        finally:
            gone.set()

    background.start_soon(run)
    with anyio.move_on_after(patience, shield=True):
        await gone.wait()
