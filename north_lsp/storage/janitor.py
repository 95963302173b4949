"""Removes what is no longer needed: what killed processes left behind, and what is too old to keep.

Nothing that belongs to a running process is touched, only: a lock that can be taken, a temporary file or a shell's
folder whose process is gone, a conversation in which nothing was ever said, what belonged to a conversation that is
gone, contents that no log names, the trash, free space inside databases; and what the user wants to be removed by age.
Best effort, in limited time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.entries import timestamp, valid_conversation_id
from north_lsp.storage.errors import ConversationBusy
from north_lsp.storage.housekeeping import Housekeeping, files_that_name_blobs
from north_lsp.storage.listing import delete_idle_conversation, list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import LockHeld, try_lock
from north_lsp.storage.memory_log import UNSAVED_FOLDER
from north_lsp.storage.sizes import measure
from north_lsp.storage.sqlite import shrink
from north_lsp.storage.summaries import summarize
from north_lsp.storage.trash import trashed_ids

SHELL_FOLDER = "north-shell-"
REVIEW_FOLDER = "north-review-"
EMPTY_DAYS = 7
ORPHAN_DAYS = 7
TRASH_DAYS = 30
CRASH_DAYS = 30
DAILY = "clean-up"
_DAY = 24 * 60 * 60.0
_HOUR = 60 * 60.0
_BLOB = lazy_pattern(r"[0-9a-f]{64}")
_SINCE = lazy_pattern(r"-(\d{8}T\d{6}Z)(?:-\d+)?$")
_TEMPORARY = lazy_pattern(r"\..+\.(\d+)\.[0-9a-f]{8}\.tmp")


@dataclass(frozen=True)
class Removed:
    """Something that was removed, or moved to the trash: what it was, its name, and how many bytes it had."""

    kind: str
    name: str
    size: int


def clear_daily(locations: Locations, max_age_days: int, seconds: float = 2.0) -> list[Removed]:
    """Do what `clear` does unless a process of North has done it within a day, or is doing it. Blocks."""
    import sqlite3

    housekeeping = Housekeeping(locations)
    try:
        if not housekeeping.begin(DAILY):
            return []
        removed = clear(locations, max_age_days, seconds)
        housekeeping.done(DAILY)
    except (OSError, sqlite3.Error):
        return []
    return removed


def clear(locations: Locations, max_age_days: int = 0, seconds: float = 2.0) -> list[Removed]:
    """Remove what is left over; return what was removed. Conversations that are older than `max_age_days` (0: none) go
    to the trash. Blocks for at most about that many seconds."""
    deadline = time.monotonic() + seconds
    removed: list[Removed] = []
    for kind, path in chain(
        _left_over(locations), _orphans(locations)
    ):  # each is locked until the next one is asked for
        if time.monotonic() > deadline:
            return removed
        size = measure(path).size
        if _remove(path):
            removed.append(Removed(kind, path.name, size))
    # While the index is being rebuilt, nobody knows for sure what is old, or needed.
    if locations.index.exists():
        removed += _retire(locations, max_age_days, deadline)
        removed += _unnamed_blobs(locations, deadline)
    removed += _free_space(locations, deadline)
    return removed


def clear_project(root: Path) -> None:
    """Remove the temporary files of killed processes from a project's `.north`. Blocks."""
    for path in _files(root / ".north"):
        if _is_abandoned(path):
            _remove(path)


def _left_over(locations: Locations) -> Iterator[tuple[str, Path]]:
    conversations = locations.conversations
    for folder in (locations.data, conversations, locations.blobs, *_folders(locations.data / "projects")):
        yield from (("temporary file", path) for path in _files(folder) if _is_abandoned(path))
    for path in _files(conversations):
        if path.suffix == ".lock":
            _release(path)
        elif path.suffix == ".jsonl" and valid_conversation_id(path.stem) and _age(path) > EMPTY_DAYS * _DAY:
            yield from (("empty conversation", one) for one in _empty(path))
    former = locations.conversations / "index.json"  # what older versions had instead of the database
    yield from (("former index", path) for path in [former] if path.exists())
    for path in _files(locations.locks):
        if _age(path) > ORPHAN_DAYS * _DAY:
            _release(path)
    trash = _folders(conversations / "trash")
    yield from (("conversation in the trash", path) for path in trash if _in_trash(path) > TRASH_DAYS * _DAY)
    yield from (("crash report", path) for path in _files(locations.crashes) if _age(path) > CRASH_DAYS * _DAY)
    unsaved = [path for path in _folders(locations.temporary) if path.name.startswith(UNSAVED_FOLDER)]
    yield from (("folder of an unsaved conversation", path) for path in unsaved if _is_unused(path))
    passing = {*_files(locations.temporary), *_folders(locations.temporary)}.difference(unsaved)
    yield from (("temporary file", path) for path in passing if _age(path) > _DAY)
    if not any((locations.data / "projects").glob("*/jobs/*")):  # a detached job may still use its shell's folder
        temporary = Path(tempfile.gettempdir())
        shells = (path for path in _folders(temporary) if path.name.startswith(SHELL_FOLDER))
        yield from (("folder of a shell", path) for path in shells if _is_unused(path))
    servers = (path for path in _folders(locations.server_folders) if _is_unused(path))
    yield from (("folder of an MCP server", path) for path in servers)
    shown = (path for path in _folders(Path(tempfile.gettempdir())) if path.name.startswith(REVIEW_FOLDER))
    yield from (("document of a review", path) for path in shown if _age(path) > _DAY and _is_unused(path))


def _orphans(locations: Locations) -> Iterator[tuple[str, Path]]:
    """Yield what belonged to conversations that are gone: outputs, snapshots, partial answers. What a process that was
    killed while it moved one to the trash left behind comes back with that one."""
    folder, in_trash = locations.conversations, {*trashed_ids(locations)}
    for path in (*_folders(folder), *_files(folder)):
        id = path.name.partition(".")[0]
        is_output = path.name == id or path.name.endswith((".snapshot.json", ".partial.jsonl", ".partial.json"))
        if path.name == "trash" or not is_output or not valid_conversation_id(id):
            continue
        if id not in in_trash and not (folder / f"{id}.jsonl").exists() and _age(path) > ORPHAN_DAYS * _DAY:
            yield "output of a conversation that is gone", path


def _retire(locations: Locations, days: int, deadline: float) -> Iterator[Removed]:
    """Move old conversations to the trash; archived ones, those that were opened today and those in use stay."""
    if days <= 0:
        return
    limit = timestamp(datetime.now(UTC) - timedelta(days=days))
    for row in list_conversations(locations):
        path = locations.conversations / f"{row.id}.jsonl"
        is_known = row.repo_root != Path("/")  # what cannot be read is not judged
        is_old = bool(row.updated_at) and row.updated_at < limit and _age(path) > _DAY
        if time.monotonic() > deadline or not is_known or not is_old or row.archived:
            continue
        size = measure(path).size
        with suppress(ConversationBusy, OSError):
            if delete_idle_conversation(locations, row.id):
                yield Removed("old conversation, to the trash", row.id, size)


def _unnamed_blobs(locations: Locations, deadline: float) -> Iterator[Removed]:
    """Remove old contents that no log names."""
    old = [path for path in _files(locations.blobs) if _BLOB.fullmatch(path.name) and _age(path) > ORPHAN_DAYS * _DAY]
    if not old:
        return
    named = Housekeeping(locations).digests(files_that_name_blobs(locations), deadline)
    for path in old if named is not None else ():
        if time.monotonic() > deadline:
            return
        size = measure(path).size
        # Asked again: somebody may have needed it meanwhile.
        if named is not None and path.name not in named and _age(path) > ORPHAN_DAYS * _DAY and _remove(path):
            yield Removed("content that no conversation names", path.name, size)


def _free_space(locations: Locations, deadline: float) -> Iterator[Removed]:
    """Have databases give back what is free inside them; keys are not touched."""
    import sqlite3

    folders = (locations.data, locations.data / "memories", locations.state)
    for path in (path for folder in folders for path in _files(folder) if path.suffix == ".db"):
        if path.name == "agent.db" or time.monotonic() > deadline:
            continue
        with suppress(OSError, sqlite3.Error):  # somebody is in it, or it is damaged: whoever opens it sees to that
            if size := shrink(path, deadline):
                yield Removed("free space in a database", path.name, size)


def _in_trash(path: Path) -> float:
    """Return for how many seconds a conversation has been in the trash; its name says since when."""
    found = _SINCE.search(path.name)
    if found is None:
        return _age(path)
    try:
        since = datetime.strptime(found[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return _age(path)
    return max(0.0, time.time() - since.timestamp())


def _is_unused(folder: Path) -> bool:
    """Tell whether this is a folder of this user that no process holds: of a shell, a review, an MCP server, an
    unsaved conversation."""
    try:
        if not systems.is_own(folder.lstat()) or _age(folder) < _HOUR:
            return False
        os.close(systems.lock_folder(folder))
    except OSError:
        return False
    return True


def _is_abandoned(path: Path) -> bool:
    """Tell whether this is a temporary file whose process is gone. A later process may have got the same number: then
    the file counts as abandoned after an hour."""
    named = _TEMPORARY.fullmatch(path.name)
    return named is not None and (not is_alive(int(named[1])) or _age(path) > _HOUR)


def is_alive(pid: int) -> bool:
    """Tell whether there is a process with this number."""
    try:
        return systems.is_alive(pid)
    except OverflowError:
        return True


def _release(path: Path) -> None:
    """Remove a lock that nobody holds; a process that takes it meanwhile sees that its file is gone, and retries."""
    with suppress(OSError):
        lock = try_lock(path)
        if not isinstance(lock, LockHeld):
            lock.release(remove=True)


def _empty(path: Path) -> Iterator[Path]:
    """Yield the log if nothing was said in its conversation; it is locked meanwhile, so that nobody can begin."""
    lock_path = path.with_suffix(".lock")
    with suppress(OSError):
        lock = try_lock(lock_path)
        if isinstance(lock, LockHeld):
            return
        try:
            if summarize(path).summary.is_empty:
                yield path
        finally:
            lock.release(remove=True)


def _remove(path: Path) -> bool:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True


def _age(path: Path) -> float:
    """Return the age in seconds; 0 for what is gone or has a time in the future."""
    try:
        return max(0.0, time.time() - path.lstat().st_mtime)
    except OSError:
        return 0.0


def _files(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    return []


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []
