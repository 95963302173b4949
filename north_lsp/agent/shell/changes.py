"""Checkpoints of what commands change, as far as that can be told; only if the user's settings ask for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import anyio.to_thread

from north_lsp.agent.ports.events import Notice
from north_lsp.agent.turn_state import TurnState
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.tools.base import Workspace
from north_lsp.workspace.apply.snapshot import FileImage, Observed, Snapshot, compare, take
from north_lsp.workspace.paths import lies_in

_SHOWN = 20


@asynccontextmanager
async def observed(state: TurnState, call_id: str, command: str) -> AsyncIterator[None]:
    """Around a command: what it changed becomes a checkpoint, and what cannot be taken back is said."""
    if not state.workspace.edits.shell_checkpoints:
        yield
        return
    before = await anyio.to_thread.run_sync(_take_all, state.workspace)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await _record(state, call_id, command, before)


def _take_all(workspace: Workspace) -> list[Snapshot | None]:
    return [take(root, workspace.seen.paths()) for root in workspace.roots.roots]


async def _record(state: TurnState, call_id: str, command: str, before: list[Snapshot | None]) -> None:
    told: list[str] = []
    images: list[FileImage] = []
    lost: list[str] = []
    for snapshot in before:
        if snapshot is None:
            told.append("there are too many files here to tell what a command changes")
            continue
        found = await anyio.to_thread.run_sync(_compared, state.workspace, snapshot)
        images += found.images
        lost += [path.name for path in found.uncovered]
    if lost:
        names = ", ".join(lost[:_SHOWN]) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
        told.append(f"the command changed files that cannot be restored: {names}")
    if images:
        try:
            await state.checkpoints.record_images(call_id, one_line(f"Ran {command}"), state.workspace.roots, images)
        except ToolError as error:
            told.append(error.message)
    for text in told:
        await state.editor.show(Notice("warning", visible(text)))


def _compared(workspace: Workspace, snapshot: Snapshot) -> Observed:
    """What changed, without what the user keeps closed and without North's own files."""
    found = compare(snapshot)

    def is_open(image: FileImage) -> bool:
        root = workspace.roots.root_of(image.path)
        if root is None or lies_in(image.path, workspace.private):
            return False
        return workspace.trees.closed(image.path) is None

    return replace(found, images=tuple(image for image in found.images if is_open(image)))
