"""Checkpoints: what files held before and after each applied proposal, in the log and in the blob store."""

import os
import stat
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.storage.blobs import MAX_BLOB_BYTES, Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import is_from_user, message_of, new_entry_id
from north_lsp.workspace.apply.journal import digest
from north_lsp.workspace.apply.snapshot import FileImage
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import Action, FileChange
from north_lsp.workspace.text import encode

Status = Literal["pending", "applied", "failed", "undone"]
_PREFIX = "blob:sha256:"
_MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What a checkpoint says of one file. `before` and `after` are digests, None where there was no file; `undoes` are
    the checkpoints whose change of this file was taken back. An empty `folder` has neither digest."""

    path: Path
    relative: str
    action: Action
    before: str | None
    after: str | None
    before_mode: int | None = None
    new_path: Path | None = None
    new_relative: str | None = None
    irrecoverable: bool = False
    lines_added: int = 0
    lines_removed: int = 0
    undoes: tuple[str, ...] = ()
    after_mode: int | None = None
    folder: bool = False

    @property
    def target(self) -> Path:
        return self.new_path or self.path


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`turn` is the entry of the user's prompt that it belongs to, `at` the time as the log has it. `folders` are those
    that were made for the files."""

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
        """Whether it is a place that the user has named, and no change."""
        return not self.files


class Checkpoints:
    """The checkpoints of one conversation. `journals` is where applications under way are noted."""

    def __init__(self, conversation: Conversation, blobs: Blobs, journals: Path) -> None:
        self._conversation = conversation
        self._blobs = blobs
        self.journals = journals

    async def record(self, call_id: str | None, title: str, files: Sequence[FileChange]) -> str:
        """Note what is about to be written, with the contents before; returns the entry. Raises ToolError IO_ERROR."""
        rows, contents = await anyio.to_thread.run_sync(_rows, files)
        made = await anyio.to_thread.run_sync(_missing_folders, files)
        return await self._store(call_id, title, rows, contents, "pending", made)

    async def record_images(self, call_id: str | None, title: str, roots: Roots, images: Sequence[FileImage]) -> str:
        """Note what has been changed already. Raises ToolError IO_ERROR."""
        contents: dict[str, bytes] = {}
        rows = [_image_row(image, roots, contents) for image in images]
        return await self._store(call_id, title, rows, contents, "applied")

    def name_point(self, name: str) -> str:
        """Mark this place in the conversation; returns the checkpoint's id. Raises ToolError INVALID_INPUT."""
        name = one_line(name)
        if not 1 <= len(name) <= _MAX_NAME:
            raise ToolError("INVALID_INPUT", f"the name of a checkpoint has 1 to {_MAX_NAME} characters")
        id = new_entry_id(())
        self._conversation.append("checkpoint", checkpointId=id, title=name, files=[], status="applied")
        return id

    def unsaid(self) -> list[str]:
        """The files that the user changed back or again since the last prompt, of which the model knows nothing yet."""
        names: dict[str, None] = {}
        for entry in reversed(self._conversation.active_path()):
            if is_from_user(entry["type"], entry):
                break
            made = _read(entry, None) if entry["type"] == "checkpoint" and "toolCallId" not in entry else None
            if made is not None and made.status == "applied":
                names |= {file.new_relative or file.relative: None for file in made.files if file.undoes}
        return list(names)

    def unanswered(self) -> list[Checkpoint]:
        """What was being applied, in the turn that was the last, when North ended before the model got a result."""
        answered: set[str] = set()
        found: list[Checkpoint] = []
        for entry in reversed(self._conversation.active_path()):
            if is_from_user(entry["type"], entry):
                break
            answered.add(str(message_of(entry).get("toolCallId")))
            made = _read(entry, None) if entry["type"] == "checkpoint" and "toolCallId" in entry else None
            if made is not None and made.status != "failed" and made.call_id not in answered:
                found.insert(0, made)
        return found

    async def _store(
        self,
        call_id: str | None,
        title: str,
        rows: list[dict[str, Any]],
        contents: dict[str, bytes],
        status: Status,
        folders: Sequence[str] = (),
    ) -> str:
        try:
            await anyio.to_thread.run_sync(self._blobs.keep, contents)
        except OSError as error:
            raise ToolError(
                "IO_ERROR",
                f"North cannot keep what is needed to undo this ({error.strerror}), so nothing was written",
                "tell the user: North's data folder cannot be written",
            ) from error
        calls: dict[str, Any] = {"toolCallId": call_id} if call_id else {}
        if folders:
            calls["folders"] = list(folders)
        entry = self._conversation.append(
            "checkpoint", checkpointId=new_entry_id(()), title=title, files=rows, status=status, **calls
        )
        return str(entry["id"])

    async def keep(self, contents: Mapping[str, bytes]) -> None:
        """Keep contents by their digests. Raises OSError."""
        await anyio.to_thread.run_sync(self._blobs.keep, contents)

    def settle(self, entry_id: str, status: Status) -> None:
        """Say what became of it."""
        self._conversation.annotate("entry_updated", targetId=entry_id, patch={"status": status})

    async def settle_applied(self, entry_id: str, files: Sequence[FileChange] | None) -> None:
        """It stands; with other texts than were recorded, if `files` are given."""
        patch: dict[str, Any] = {"status": "applied"}
        if files is not None:
            patch["files"], contents = await anyio.to_thread.run_sync(_rows, files)
            with suppress(OSError):  # they are there already, or only wanted to do it again after an undo
                await anyio.to_thread.run_sync(self._blobs.keep, contents)
        self._conversation.annotate("entry_updated", targetId=entry_id, patch=patch)

    def content(self, digest: str | None) -> bytes | None:
        """What a file held; None if that was not kept. Raises ToolError IO_ERROR if it cannot be read now."""
        try:
            return None if digest is None else self._blobs.find(digest)
        except OSError as error:
            raise ToolError(
                "IO_ERROR",
                f"what a file held before cannot be read in North's data folder now ({error.strerror})",
                "nothing was changed; try again",
            ) from error

    def all(self) -> list[Checkpoint]:
        """Every checkpoint, the oldest first, those that were not applied left out."""
        turns: dict[str, str | None] = {}
        found: list[Checkpoint] = []
        for entry in self._conversation.entries:
            parent = turns.get(str(entry.get("parentId")))
            turns[entry["id"]] = entry["id"] if is_from_user(entry["type"], entry) else parent
            if entry["type"] == "checkpoint":
                made = _read(entry, turns[entry["id"]])
                if made is not None and made.status != "failed":
                    found.append(made)
        return found


def live(checkpoints: Iterable[Checkpoint], without: Container[tuple[str, Path]] = ()) -> dict[tuple[str, Path], bool]:
    """Which changes still hold: by checkpoint and file, whether no later one that holds itself has taken it back.
    Those `without` which it is to be known do not count."""
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
    """0 for a change, 1 for taking one back, 2 for making it again, and so on."""
    deepest = 0
    for file in one.files:
        for id in file.undoes:
            if id in known and id != one.id:
                deepest = max(deepest, 1 + depth(known[id], known))
    return deepest


def _rows(files: Sequence[FileChange]) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    rows: list[dict[str, Any]] = []
    contents: dict[str, bytes] = {}
    for change in files:
        if change.folder:
            rows.append(_folder_row(change))
            continue
        before = None if change.old_text is None else encode(change.old_text, change.before_form)
        after = None if change.action == "delete" else encode(change.new_text, change.form)
        row = _row(change.path, change.relative, change.action, before, after, mode_of(change.path), contents)
        row |= {"linesAdded": change.lines_added, "linesRemoved": change.lines_removed}
        if change.new_path is not None:
            row |= {"newPath": str(change.new_path), "newRelative": change.new_relative}
        if change.mode is not None:
            row["afterMode"] = change.mode
        rows.append(row | ({"undoes": list(change.undoes)} if change.undoes else {}))
    return rows, contents


def _folder_row(change: FileChange) -> dict[str, Any]:
    row: dict[str, Any] = {"path": str(change.path), "relative": change.relative, "action": change.action}
    row |= {"before": None, "after": None, "beforeMode": mode_of(change.path), "folder": True}
    if change.new_path is not None:
        row |= {"newPath": str(change.new_path), "newRelative": change.new_relative}
    return row | ({"undoes": list(change.undoes)} if change.undoes else {})


def _image_row(image: FileImage, roots: Roots, contents: dict[str, bytes]) -> dict[str, Any]:
    action: Action = "create" if image.before is None else "delete" if image.after is None else "update"
    root = roots.root_of(image.path)
    relative = roots.spell(root, image.path.relative_to(root).as_posix()) if root is not None else str(image.path)
    return _row(image.path, relative, action, image.before, image.after, image.before_mode, contents)


def _row(
    path: Path,
    relative: str,
    action: Action,
    before: bytes | None,
    after: bytes | None,
    mode: int | None,
    contents: dict[str, bytes],
) -> dict[str, Any]:
    """A file as it stands in the log; `contents` gets what is to be kept of it, by digest."""
    digests = [None if data is None else digest(data) for data in (before, after)]
    contents |= {name: data for name, data in zip(digests, (before, after), strict=True) if name and data is not None}
    row: dict[str, Any] = {"path": str(path), "relative": relative, "action": action}
    row["before"] = None if digests[0] is None else _PREFIX + digests[0]
    row["after"] = digests[1]
    row["beforeMode"] = mode if before is not None else None
    lost = before is not None and len(before) > MAX_BLOB_BYTES
    return row | ({"irrecoverable": True} if lost else {})


def _missing_folders(files: Sequence[FileChange]) -> list[str]:
    """The folders that will have to be made for what is in them, the outer ones first."""
    missing: dict[str, None] = {}
    meant = {change.target for change in files if change.folder}
    for change in files:
        if change.action in ("create", "rename"):
            parents = change.target.parents
            above = [folder for folder in parents if folder not in meant and not os.path.lexists(folder)]
            missing |= dict.fromkeys(map(str, reversed(above)))
    return list(missing)


def mode_of(path: Path) -> int | None:
    """The permission bits of what stands there; None for nothing."""
    with suppress(OSError):
        return stat.S_IMODE(os.lstat(path).st_mode)
    return None


def _read(entry: Mapping[str, Any], turn: str | None) -> Checkpoint | None:
    """None for an entry that makes no sense: logs are foreign data."""
    try:
        files = tuple(_read_file(row) for row in entry["files"])
        status = str(entry.get("status", "applied"))
        call_id = entry.get("toolCallId")
        return Checkpoint(
            str(entry["checkpointId"]),
            str(entry["id"]),
            call_id if isinstance(call_id, str) else None,
            turn,
            str(entry.get("timestamp", "")),
            str(entry.get("title", "")),
            cast(Status, status) if status in get_args(Status) else "applied",
            files,
            tuple(Path(str(folder)) for folder in entry.get("folders", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _read_file(row: Mapping[str, Any]) -> FileRecord:
    path = Path(row["path"])
    before, after, mode, moved = row["before"], row["after"], row.get("beforeMode"), row.get("newPath")
    after_mode = row.get("afterMode")
    action = row["action"]
    if action not in ("create", "update", "delete", "rename"):
        raise ValueError(action)
    return FileRecord(
        path,
        str(row.get("relative", path.name)),
        action,
        str(before).removeprefix(_PREFIX) if before is not None else None,
        str(after) if after is not None else None,
        mode if isinstance(mode, int) else None,
        Path(moved) if isinstance(moved, str) else None,
        str(row["newRelative"]) if isinstance(moved, str) else None,
        row.get("irrecoverable") is True,
        int(row.get("linesAdded", 0)),
        int(row.get("linesRemoved", 0)),
        tuple(str(id) for id in row.get("undoes", ())),
        after_mode if isinstance(after_mode, int) else None,
        row.get("folder") is True,
    )
