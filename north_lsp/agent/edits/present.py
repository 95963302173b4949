"""Reads what is at the paths of changes now, as the editor or the disk has it: many together, on one thread."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.edits.taking_back import Contents, FileState, PresentFile
from north_lsp.errors import ToolError
from north_lsp.tools.edit.draft_guards import guard_named
from north_lsp.tools.support.texts import TextsAhead
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.files.trees import Gate
from north_lsp.workspace.opening import mode_of, open_real
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.text import MAX_WHOLE_FILE, decode
from north_lsp.workspace.workspace import Workspace

_GUARDED = ("IGNORED", "DENIED")


class Present:
    """What is at some paths now. They are looked at when it is made, `folders` (which have no text) among them; each is
    asked for once."""

    def __init__(self, workspace: Workspace, places: dict[Path, Resolved | ToolError], texts: TextsAhead) -> None:
        self._workspace = workspace
        self._places = places
        self._texts = texts

    @classmethod
    async def read(cls, workspace: Workspace, files: Sequence[Path], folders: Sequence[Path] = ()) -> Present:
        """Look at paths. What is wrong with one is raised when that one is asked for."""
        places = await on_thread(_places, [*files, *folders], workspace)
        texts = TextsAhead(workspace)
        await texts.read(path for path in files if isinstance(place := places[path], Resolved) and place.exists)
        return cls(workspace, places, texts)

    async def shown(self, path: Path) -> PresentFile | None:
        """Return what is at a path; None if it must not be read. Raises ToolError."""
        try:
            return await self._file(path)
        except ToolError as error:
            if error.code in _GUARDED:
                return None
            raise

    async def state(self, path: Path, relative: str, *, folder: bool) -> FileState:
        """Return the state of a path; what is no longer a file (or `folder`), or leads elsewhere, is left as it is and
        does not keep others from being restored."""
        try:
            return FileState(await (self._folder(path) if folder else self._file(path)))
        except ToolError as error:
            state = FileState(PresentFile(relative))
            state.leave("irrecoverable" if error.code in _GUARDED else "conflict", error.message)
            return state

    def _place(self, path: Path) -> Resolved:
        """Return where a path leads, if an edit may change it now. Raises ToolError."""
        place = self._places[path]
        if isinstance(place, ToolError):
            raise place
        return place

    async def _file(self, path: Path) -> PresentFile:
        """Return what is at a path. Raises ToolError if it is not a file, leads elsewhere, or must not be changed."""
        place = self._place(path)
        try:
            text, _ = await self._texts.take(path)
        except ToolError as error:
            if error.code == "NOT_FOUND":
                return PresentFile(place.relative)
            if error.code != "BINARY_FILE":
                raise
            data = await anyio.to_thread.run_sync(_bytes_of, path)
            return PresentFile(place.relative, Contents(*decode(data), binary=True), mode_of(path))
        return PresentFile(place.relative, Contents(text.text, text.form), mode_of(path), text.on_disk)

    async def _folder(self, path: Path) -> PresentFile:
        """Look at a folder, like `_file`. Raises ToolError."""
        place = self._place(path)
        if place.exists and not await anyio.to_thread.run_sync(os.path.isdir, path):
            raise ToolError("STALE", f"{place.relative} is no longer a folder")
        return PresentFile(place.relative, mode=mode_of(path), is_folder=place.exists)


def _places(paths: Sequence[Path], workspace: Workspace) -> dict[Path, Resolved | ToolError]:
    found: dict[Path, Resolved | ToolError] = {}
    gate = workspace.trees.gate()
    for path in paths:
        try:
            found[path] = _allowed(path, workspace, gate)
        except ToolError as error:
            found[path] = error
    return found


def _allowed(path: Path, workspace: Workspace, gate: Gate) -> Resolved:
    """Resolve a path if an edit may change it now. Raises ToolError."""
    resolved = gate.resolve(str(path))
    if resolved.path != path:
        raise ToolError("STALE", f"{resolved.relative} now points to a different file", "list the folder first")
    guard_named(resolved, workspace)
    return resolved


def _bytes_of(path: Path) -> bytes:
    try:
        with open(open_real(path), "rb") as file:
            data = file.read(MAX_WHOLE_FILE + 1)
    except OSError as error:
        raise ToolError("IO_ERROR", f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MAX_WHOLE_FILE:
        raise ToolError("TOO_LARGE", f"{path} has more than {MAX_WHOLE_FILE} bytes")
    return data
