"""Records checkpoints of what commands change, as far as that can be determined; only if the settings ask for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import anyio.to_thread

from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.workspace.apply.snapshot import FileImage, Observed, Snapshot, compare, take
from north_lsp.workspace.paths import lies_in
from north_lsp.workspace.workspace import Workspace

_SHOWN = 20


class ChangeObserver:
    """Observes the commands of one session."""

    def __init__(self, checkpoints: Checkpoints, editor: Editor) -> None:
        self._checkpoints = checkpoints
        self._editor = editor

    @asynccontextmanager
    async def around(self, workspace: Workspace, call_id: str, command: str) -> AsyncIterator[None]:
        """Watch a command: what it changed becomes a checkpoint, and the user is told what cannot be restored."""
        if not workspace.settings.edits.shell_checkpoints:
            yield
            return
        before = await anyio.to_thread.run_sync(_take_all, workspace)
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await self._record(workspace, call_id, command, before)

    async def _record(self, workspace: Workspace, call_id: str, command: str, before: list[Snapshot | None]) -> None:
        told: list[str] = []
        images: list[FileImage] = []
        lost: list[str] = []
        for snapshot in before:
            if snapshot is None:
                told.append("there are too many files here to tell what a command changes")
                continue
            found = await anyio.to_thread.run_sync(_compared, workspace, snapshot)
            images += found.images
            lost += [path.name for path in found.uncovered]
        if lost:
            names = ", ".join(lost[:_SHOWN]) + (f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else "")
            told.append(f"the command changed files that cannot be restored: {names}")
        if images:
            try:
                title = one_line(f"Ran {command}")
                await self._checkpoints.record_images(call_id, title, workspace.roots, images)
            except ToolError as error:
                told.append(error.message)
        for text in told:
            await self._editor.show(Notice("warning", visible(text)))


def _take_all(workspace: Workspace) -> list[Snapshot | None]:
    return [take(root, workspace.seen.paths()) for root in workspace.roots.roots]


def _compared(workspace: Workspace, snapshot: Snapshot) -> Observed:
    """Return what changed, without closed files and North's own."""
    found = compare(snapshot)

    def is_open(image: FileImage) -> bool:
        root = workspace.roots.root_of(image.path)
        if root is None or lies_in(image.path, workspace.private):
            return False
        return workspace.trees.closed(image.path) is None

    return replace(found, images=tuple(image for image in found.images if is_open(image)))
