"""The trash: deleted conversations, each in a folder of its own that is named after its id and the time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.entries import timestamp, valid_conversation_id
from north_lsp.storage.errors import ConversationBusy, UnknownConversation
from north_lsp.storage.files import private_directory
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import FileLock, try_lock
from north_lsp.storage.summaries import Summary, summarize

_NAME = lazy_pattern(r"([0-9a-zA-Z_-]{1,64})-(\d{8}T\d{6}Z)(?:-(\d+))?")


class NotRestored(ValueError):
    """The conversation stays in the trash; the text says why."""


@dataclass(frozen=True, slots=True)
class Trashed:
    """A deleted conversation: its `folder` in the trash, when it was deleted (UTC, ISO 8601), and its summary."""

    folder: Path
    deleted_at: str
    summary: Summary

    @property
    def id(self) -> str:
        return self.summary.id


def move_to_trash(store: Locations, id: str) -> bool:
    """Move everything of a conversation to the trash; return whether there was anything. Raises OSError."""
    folder = store.conversations
    # The log goes first: whatever happens then, the conversation is either listed and whole, or not listed.
    names = [f"{id}.jsonl", f"{id}.partial.jsonl", f"{id}.partial.json", f"{id}.snapshot.json", id, f"{id}.wanted"]
    if not any(os.path.lexists(folder / name) for name in names):
        return False
    names += names_with(folder, f"{id}.jsonl.bak-")
    trash = _new_folder(private_directory(folder / "trash"), id)
    for name in names:
        with suppress(FileNotFoundError):
            os.rename(folder / name, trash / name)
    return True


def names_with(folder: Path, beginning: str) -> list[str]:
    """Return the names in a folder that begin like this. A pattern with an id in it would be kept in memory."""
    try:
        return [name for name in os.listdir(folder) if name.startswith(beginning)]
    except FileNotFoundError:
        return []


def deleted_at(folder: Path) -> str:
    """Return when a conversation was moved to its folder in the trash; empty if the name does not tell."""
    named = _NAME.fullmatch(folder.name)
    if named is None:
        return ""
    try:
        return timestamp(datetime.strptime(named[2], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC))
    except ValueError:
        return ""


def trashed(store: Locations) -> Iterator[Trashed]:
    """Yield the conversations in the trash, the one that was deleted last first. Each is read when it is asked for:
    there may be thousands. Blocks."""
    for folder, id in _folders(store):
        with suppress(OSError):
            yield Trashed(folder, deleted_at(folder), summarize(folder / f"{id}.jsonl").summary)


def trashed_ids(store: Locations, beginning: str = "") -> list[str]:
    """Return the ids of the conversations in the trash that begin so, or of all, each once, the one that was deleted
    last first. Blocks."""
    return list(dict.fromkeys(id for _, id in _folders(store, beginning)))


def restore(store: Locations, id: str) -> Trashed:
    """Put a deleted conversation back where it was, with everything that belongs to it; of several with this id, the
    one that was deleted last. Blocks.

    Raises UnknownConversation, NotRestored if there is one with this id, ConversationBusy, and OSError. A restoring
    that was interrupted is finished by the next one.
    """
    folder = next((folder for folder, known in _folders(store, id) if known == id), None)
    if folder is None:
        raise UnknownConversation(id)
    log = store.conversations / f"{id}.jsonl"
    lock = try_lock(store.conversations / f"{id}.lock")
    if not isinstance(lock, FileLock):
        raise ConversationBusy(lock)
    try:
        if os.path.lexists(log):
            raise NotRestored(f"there is another conversation {id}: delete or archive that one first")
        restored = Trashed(folder, deleted_at(folder), summarize(folder / log.name).summary)
        for name in (*sorted(name for name in os.listdir(folder) if name != log.name), log.name):
            if name.endswith(".wanted"):  # whoever wanted it has gone
                os.unlink(folder / name)
                continue
            # The log comes last, so that whoever finds it finds the rest. Clearing up goes by the time of a file: what
            # was restored counts as touched today.
            os.utime(folder / name, follow_symlinks=os.utime not in os.supports_follow_symlinks)
            if not os.path.lexists(store.conversations / name):
                os.rename(folder / name, store.conversations / name)
        with suppress(OSError):
            folder.rmdir()
    finally:
        lock.release(remove=True)
    return restored


def _folders(store: Locations, beginning: str = "") -> Iterator[tuple[Path, str]]:
    """Yield the folders in the trash that have a log, with its id, the latest first; those whose id begins so. There
    may be many thousands, so only their names are kept."""
    trash = store.conversations / "trash"
    names = [name for name in _names(trash) if name.startswith(beginning)]
    names.sort(key=_age, reverse=True)
    for name in names:
        found = _NAME.fullmatch(name)
        if found is None or not found[1].startswith(beginning) or not valid_conversation_id(found[1]):
            continue
        folder = trash / name
        log = folder / f"{found[1]}.jsonl"
        if not folder.is_symlink() and log.is_file() and not log.is_symlink():
            yield folder, found[1]


def _age(name: str) -> tuple[str, int]:
    """Return what sorts the names of folders in the trash: when their conversation was deleted, and which one of those
    of that second it is."""
    found = _NAME.fullmatch(name)
    return (found[2], int(found[3] or 0)) if found is not None else ("", 0)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _new_folder(trash: Path, id: str) -> Path:
    name = f"{id}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    target, count = trash / name, 1
    while True:
        try:
            target.mkdir(0o700)
            return target
        except FileExistsError:
            target, count = trash / f"{name}-{count}", count + 1
