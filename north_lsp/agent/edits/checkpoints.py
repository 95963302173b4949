"""Checkpoints: what files held before and after each applied proposal, stored in the log and the blob store."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.log.agent_calls import is_of_agent
from north_lsp.agent.log.checkpoints import CheckpointEntry, FileRecord
from north_lsp.agent.log.results import ResultEntry
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.blobs import MAX_BLOB_BYTES
from north_lsp.storage.entries import new_entry_id
from north_lsp.workspace.apply.journal import digest
from north_lsp.workspace.opening import mode_of
from north_lsp.workspace.text import encode

if TYPE_CHECKING:
    from north_lsp.agent.log.checkpoints import Status
    from north_lsp.agent.log.entries import Logged
    from north_lsp.agent.log.log import Log
    from north_lsp.storage.blobs import Blobs
    from north_lsp.workspace.apply.snapshot import FileImage
    from north_lsp.workspace.paths import Roots
    from north_lsp.workspace.proposal import Action, FileChange

_MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The contents of files before and after an edit. `turn` is the entry of the prompt that it belongs to, `at` the
    time as written in the log. `folders` are those that were made for the files."""

    id: str
    entry_id: str
    call_id: str | None
    turn: str | None
    at: str
    title: str
    status: Status
    files: tuple[FileRecord, ...]
    folders: tuple[Path, ...] = ()

    @property
    def is_point(self) -> bool:
        """Whether it is a place in the conversation that the user has named, not a change."""
        return not self.files


class Checkpoints:
    """The checkpoints of one conversation. `journals` is the folder where applications in progress are noted."""

    def __init__(self, log: Log, blobs: Blobs, journals: Path) -> None:
        self._log = log
        self._blobs = blobs
        self.journals = journals

    async def record(self, call_id: str | None, title: str, files: Sequence[FileChange]) -> str:
        """Record what is about to be written, with the contents before; returns the entry's id. Raises ToolError
        IO_ERROR."""
        rows, contents = await anyio.to_thread.run_sync(_rows, files)
        made = await anyio.to_thread.run_sync(_missing_folders, files)
        return await self._store(call_id, title, rows, contents, "pending", made)

    async def record_images(self, call_id: str | None, title: str, roots: Roots, images: Sequence[FileImage]) -> str:
        """Record what has been changed already; returns the entry's id. Raises ToolError IO_ERROR."""
        contents: dict[str, bytes] = {}
        rows = [_image_row(image, roots, contents) for image in images]
        return await self._store(call_id, title, rows, contents, "applied")

    def name_point(self, name: str) -> str:
        """Mark this place in the conversation; returns the checkpoint's id. Raises ToolError INVALID_INPUT."""
        name = one_line(name)
        if not 1 <= len(name) <= _MAX_NAME:
            raise ToolError("INVALID_INPUT", f"the name of a checkpoint must have 1 to {_MAX_NAME} characters")
        id = new_entry_id(())
        self._log.append(CheckpointEntry(id, name, (), "applied"))
        return id

    def unsaid(self) -> list[str]:
        """Return the files that the user has undone or redone since the last prompt, which the model has not been told
        yet."""
        names: dict[str, None] = {}
        for one in reversed(self._log.path()):
            if one.is_from_user:
                break
            match one.entry:
                case CheckpointEntry(call_id=None, status="applied", files=files):
                    names |= {file.new_relative or file.relative: None for file in files if file.undoes}
                case _:
                    pass
        return list(names)

    def unseen(self) -> list[str]:
        """Return the files that were changed on a branch that the user has left since the last prompt of this one, and
        are not as they were: the model does not know of it."""
        left = {one.id for one in self._log.left()}
        if not left:
            return []
        last = next((one.id for one in reversed(self._log.path()) if one.is_from_user), None)
        order = [one.id for one in self._log.entries()]
        left &= set(order[0 if last is None else order.index(last) + 1 :])
        every = self.all()
        ids, holds = {one.id for one in every if one.entry_id in left}, live(every)
        names: dict[str, None] = {}
        for one in every:
            for file in one.files:
                is_net = not file.undoes or not ids.issuperset(file.undoes)
                if one.id in ids and holds[(one.id, file.path)] and is_net:
                    names[file.new_relative or file.relative] = None
        return list(names)

    def after(self, entry_id: str) -> list[Checkpoint]:
        """Return the checkpoints that were made after an entry, on whatever branch, the oldest first."""
        ids = [one.id for one in self._log.entries()]
        later = set(ids[ids.index(entry_id) + 1 :]) if entry_id in ids else set()
        return [one for one in self.all() if one.entry_id in later]

    def unanswered(self) -> list[Checkpoint]:
        """Return the checkpoints of the last turn that were being applied when North ended, before the model got a
        result."""
        answered: set[str] = set()
        found: list[Checkpoint] = []
        for one in reversed(self._log.path()):
            if one.is_from_user:
                break
            match one.entry:
                case ResultEntry(call_id):
                    answered.add(call_id)
                case CheckpointEntry(call_id=str(call_id)) as made if made.status != "failed":
                    if is_of_agent(call_id) and made.status != "pending":
                        continue  # its result stands in the agent's own log
                    if call_id not in answered:
                        found.insert(0, _checkpoint(one, made, None))
                case _:
                    pass
        return found

    async def _store(
        self,
        call_id: str | None,
        title: str,
        rows: Sequence[FileRecord],
        contents: dict[str, bytes],
        status: Status,
        folders: Sequence[Path] = (),
    ) -> str:
        try:
            await anyio.to_thread.run_sync(self._blobs.keep, contents)
        except OSError as error:
            raise ToolError(
                "IO_ERROR",
                f"North cannot store what it needs to undo this ({error.strerror}), so nothing was written",
                "tell the user: North's data folder cannot be written",
            ) from error
        entry = CheckpointEntry(new_entry_id(()), title, tuple(rows), status, call_id or None, tuple(folders))
        return self._log.append(entry).id

    async def keep(self, contents: Mapping[str, bytes]) -> None:
        """Store contents under their digests. Raises OSError."""
        await anyio.to_thread.run_sync(self._blobs.keep, contents)

    def set_status(self, entry_id: str, status: Status) -> None:
        """Record what became of a checkpoint."""
        self._log.settle_checkpoint(entry_id, status)

    async def finish_applied(self, entry_id: str, files: Sequence[FileChange] | None) -> None:
        """Mark a checkpoint as applied; `files`, if given, replace the texts that were recorded."""
        rows: Sequence[FileRecord] | None = None
        if files is not None:
            rows, contents = await anyio.to_thread.run_sync(_rows, files)
            with suppress(OSError):  # they are stored already, or only needed for a redo
                await anyio.to_thread.run_sync(self._blobs.keep, contents)
        self._log.settle_checkpoint(entry_id, "applied", rows)

    def content(self, digest: str | None) -> bytes | None:
        """Return what a file held; None if that was not kept. Raises ToolError IO_ERROR if it cannot be read now."""
        try:
            return None if digest is None else self._blobs.find(digest)
        except OSError as error:
            raise ToolError(
                "IO_ERROR",
                f"a file's earlier content cannot be read from North's data folder now ({error.strerror})",
                "nothing was changed; try again",
            ) from error

    def all(self) -> list[Checkpoint]:
        """Return every checkpoint, the oldest first, without those that were not applied."""
        turns: dict[str, str | None] = {}
        found: list[Checkpoint] = []
        for one in self._log.entries():
            parent = turns.get(one.parent) if one.parent is not None else None
            turns[one.id] = one.id if one.is_from_user else parent
            match one.entry:
                case CheckpointEntry() as made if made.status != "failed":
                    found.append(_checkpoint(one, made, turns[one.id]))
                case _:
                    pass
        return found


def _checkpoint(logged: Logged, made: CheckpointEntry, turn: str | None) -> Checkpoint:
    place = (made.checkpoint_id, logged.id, made.call_id, turn, logged.at)
    return Checkpoint(*place, made.title, made.status, made.files, made.folders)


def live(checkpoints: Iterable[Checkpoint], without: Container[tuple[str, Path]] = ()) -> dict[tuple[str, Path], bool]:
    """Tell which changes still hold, by checkpoint and file: those that no later change that itself holds has undone.
    The changes in `without` count as not holding."""
    undone: set[tuple[str, Path]] = set()
    found: dict[tuple[str, Path], bool] = {}
    for one in reversed(list(checkpoints)):
        for file in one.files:
            holds = one.status != "undone" and not {(one.id, file.path), (one.id, file.target)} & undone
            holds = holds and (one.id, file.path) not in without
            found[(one.id, file.path)] = holds
            if holds:
                undone.update((id, path) for id in file.undoes for path in (file.path, file.target))
    return found


def depth(one: Checkpoint, known: Mapping[str, Checkpoint]) -> int:
    """Count how deep undoing is nested: 0 for a change, 1 for an undo, 2 for a redo, and so on."""
    undone = {id for file in one.files for id in file.undoes if id in known and id != one.id}
    return max((1 + depth(known[id], known) for id in undone), default=0)


def _rows(files: Sequence[FileChange]) -> tuple[list[FileRecord], dict[str, bytes]]:
    rows: list[FileRecord] = []
    contents: dict[str, bytes] = {}
    for change in files:
        moved = (change.new_path, change.new_relative)
        if change.folder:
            mode = mode_of(change.path)
            row = FileRecord(change.path, change.relative, change.action, None, None, mode, *moved, folder=True)
            rows.append(replace(row, undoes=change.undoes))
            continue
        before = None if change.old_text is None else encode(change.old_text, change.encoding_before)
        after = None if change.action == "delete" else encode(change.new_text, change.text_encoding)
        row = _row(change.path, change.relative, change.action, before, after, mode_of(change.path), contents)
        row = replace(row, lines_added=change.lines_added, lines_removed=change.lines_removed, undoes=change.undoes)
        rows.append(replace(row, new_path=moved[0], new_relative=moved[1], after_mode=change.mode))
    return rows, contents


def _image_row(image: FileImage, roots: Roots, contents: dict[str, bytes]) -> FileRecord:
    action: Action = "create" if image.before is None else "delete" if image.after is None else "update"
    root = roots.root_of(image.path)
    relative = (
        roots.display_path(root, image.path.relative_to(root).as_posix()) if root is not None else str(image.path)
    )
    return _row(image.path, relative, action, image.before, image.after, image.before_mode, contents)


def _row(
    path: Path,
    relative: str,
    action: Action,
    before: bytes | None,
    after: bytes | None,
    mode: int | None,
    contents: dict[str, bytes],
) -> FileRecord:
    """Make the record of a file; `contents` gets what must be stored for it, by digest."""
    digests = [None if data is None else digest(data) for data in (before, after)]
    contents |= {name: data for name, data in zip(digests, (before, after), strict=True) if name and data is not None}
    lost = before is not None and len(before) > MAX_BLOB_BYTES
    mode = mode if before is not None else None
    return FileRecord(path, relative, action, digests[0], digests[1], mode, irrecoverable=lost)


def _missing_folders(files: Sequence[FileChange]) -> list[Path]:
    """Return the folders that must be made for the files, outer ones first."""
    missing: dict[Path, None] = {}
    meant = {change.target for change in files if change.folder}
    for change in files:
        if change.action in ("create", "rename"):
            parents = change.target.parents
            above = [folder for folder in parents if folder not in meant and not os.path.lexists(folder)]
            missing |= dict.fromkeys(reversed(above))
    return list(missing)
