"""Shows files that were quarantined from a command in the sandbox as an edit, which the user accepts or not."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.edits.review import EditReviewer
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.shell.port import Runner
from north_lsp.shell.watch import QuarantinedFiles
from north_lsp.workspace.edit.diff import make_change, make_folder_change
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import decode, is_binary
from north_lsp.workspace.workspace import Workspace

_MAX_FILES = 100
_MAX_BYTES = 1_000_000
_EXECUTABLE = 0o100


class Quarantine:
    """Reviews the quarantined files of one session."""

    def __init__(self, runner: Runner, edits: EditReviewer) -> None:
        self._runner = runner
        self._edits = edits

    async def review(self, workspace: Workspace, call: ToolCall, taken: Sequence[QuarantinedFiles]) -> list[str]:
        """Ask about all quarantined files in one question, and put back what is accepted. Returns what became of each,
        in words. Raises StopTurn."""
        roots = workspace.roots
        notes: list[str] = []
        offered: list[tuple[QuarantinedFiles, list[FileChange]]] = []
        for one in taken:
            try:
                offered.append((one, await anyio.to_thread.run_sync(partial(_listed_changes, workspace, one))))
            except ToolError as error:
                notes.append(_said(roots, one, f"is kept in {one.kept} ({error.message})"))
        if not offered:
            return notes
        problem = ""
        try:
            await self._review(workspace, call, [change for _, changes in offered for change in changes])
        except ToolError as error:
            problem = error.message
        for one, changes in offered:
            stands = await anyio.to_thread.run_sync(_all_there, changes)
            if stands:
                await anyio.to_thread.run_sync(_forget, one)
            refused = f"it is kept in {one.kept} ({problem})" if problem else "the user did not accept it"
            words = "the user accepted it, and it has been put back" if stands else refused
            notes.append(_said(roots, one, f"shown to the user: {words}"))
        return notes

    async def review_late(self, workspace: Workspace, call: ToolCall) -> list[str]:
        """Review, in the same way, what was quarantined while no command was waited for."""
        box = self._runner.containment
        return await self.review(workspace, call, box.take_quarantined()) if box is not None else []

    async def _review(self, workspace: Workspace, call: ToolCall, changes: list[FileChange]) -> None:
        why = "it was made by a command in the sandbox, which must not create such names"
        names = ", ".join(dict.fromkeys(change.relative for change in changes))
        title, without_words = one_line(f"Moved away: {names}", 200), replace(call, arguments={})
        await self._edits.review(workspace, without_words, title, changes, asks=(why,))


def _said(roots: Roots, taken: QuarantinedFiles, what: str) -> str:
    root = next(root for root in roots.roots if taken.path.is_relative_to(root))
    name = taken.path.relative_to(root).as_posix()
    return f"{name} is a protected name: what the command created there was moved away and {what}"


def _all_there(changes: Sequence[FileChange]) -> bool:
    return all(change.path.exists() for change in changes)


def _changes(workspace: Workspace, taken: QuarantinedFiles) -> Iterator[FileChange]:
    """Yield the changes that put quarantined files back. Raises ToolError if they cannot be offered."""
    kept = taken.kept
    if kept is None:
        raise ToolError("NOT_FOUND", "it is gone")
    root = next(root for root in workspace.roots.roots if taken.path.is_relative_to(root))
    paths = sorted(_files(kept))
    if len(paths) > _MAX_FILES:
        raise ToolError("TOO_LARGE", f"{len(paths)} files are too many to show")
    total = 0
    for path in paths or [kept]:
        target = taken.path if path == kept else taken.path / path.relative_to(kept)
        status = path.lstat()
        relative = target.relative_to(root).as_posix()
        if stat.S_ISDIR(status.st_mode):
            yield make_folder_change(target, relative, "create")
            continue
        if not stat.S_ISREG(status.st_mode):
            raise ToolError("INVALID_INPUT", "links and special files are not put back")
        total += status.st_size
        if total > _MAX_BYTES:
            raise ToolError("TOO_LARGE", f"it has more than {_MAX_BYTES} bytes")
        data = path.read_bytes()
        text, form = decode(data)
        change = make_change(target, relative, None, text, form)
        executable = bool(status.st_mode & _EXECUTABLE)
        yield replace(change, binary=is_binary(data), make_executable=executable)


def _listed_changes(workspace: Workspace, taken: QuarantinedFiles) -> list[FileChange]:
    """List the changes that put quarantined files back, if the guards allow them. Raises ToolError if they cannot be
    offered."""
    changes = list(_changes(workspace, taken))
    if (why := refusal(changes, workspace.roots, workspace.private)) is not None:
        raise ToolError("OUTSIDE_WORKSPACE", why)
    return changes


def _files(kept: Path) -> Iterator[Path]:
    if kept.is_symlink() or not kept.is_dir():
        yield kept
        return
    for folder, folders, names in os.walk(kept):
        here = Path(folder)
        yield from (here / name for name in names)
        yield from (here / name for name in folders if (here / name).is_symlink())


def _forget(taken: QuarantinedFiles) -> None:
    if taken.kept is not None:
        shutil.rmtree(taken.kept.parent, ignore_errors=True)
