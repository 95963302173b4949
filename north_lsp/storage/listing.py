"""Lists of conversations, made from the logs through an index that may be lost at any time; and deleting one."""

import os
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.files import (
    inode_of,
    json_bytes,
    private_directory,
    read_json,
    set_aside,
    short_lock,
    write_atomic,
)
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import FileLock, try_lock
from north_lsp.storage.summaries import Row, Summary, summarize

__all__ = ["Summary", "delete_conversation", "list_conversations"]

_INDEX_VERSION = 1
_INDEX_LOCK_SECONDS = 0.2  # the index is not worth a wait


def list_conversations(store: Locations, *, repo_hash: str | None = None, cwd: Path | None = None) -> list[Summary]:
    """List the stored conversations, newest first, archived ones too; of one project or one directory if given. Those
    in which nothing was said are left out; those about a directory are still found after it was moved.

    A log that cannot be read appears with what is known. Reads files: for a thread.
    """
    rows = _rows(store)
    found = [row.summary for row in rows.values() if not row.summary.is_empty or row.size < 0]
    if repo_hash is not None:
        found = [summary for summary in found if summary.repo_hash == repo_hash]
    if cwd is not None:
        is_about = partial(_is_about, cwd=cwd, real=os.path.realpath(cwd), inode=inode_of(cwd))
        found = [summary for summary in found if is_about(summary)]
    return sorted(found, key=lambda summary: (summary.updated_at, summary.id), reverse=True)


def _is_about(summary: Summary, cwd: Path, real: str, inode: int | None) -> bool:
    if summary.cwd == cwd or os.path.realpath(summary.cwd) == real:
        return True
    return inode is not None and summary.root_inode == inode and not summary.cwd.is_dir()


def delete_conversation(store: Locations, id: str) -> bool:
    """Move everything of a conversation to the trash; return whether there was anything. A process that has it open
    notices that, and goes on in memory.

    Raises ValueError for what cannot be an id, and OSError.
    """
    if not valid_conversation_id(id):
        raise ValueError(f"not the id of a conversation: {id!r}")
    folder = store.conversations
    # The log goes first: whatever happens then, the conversation is either listed and whole, or not listed.
    names = [f"{id}.jsonl", f"{id}.partial.jsonl", f"{id}.partial.json", f"{id}.snapshot.json", id, f"{id}.wanted"]
    if not any(os.path.lexists(folder / name) for name in names):
        return False
    names += [path.name for path in folder.glob(f"{id}.jsonl.bak-*")]
    lock = try_lock(folder / f"{id}.lock")
    try:
        trash = _new_trash(private_directory(folder / "trash"), id)
        for name in [*names, *([f"{id}.lock"] if isinstance(lock, FileLock) else [])]:
            with suppress(FileNotFoundError):
                os.rename(folder / name, trash / name)
    finally:
        if isinstance(lock, FileLock):
            lock.release(remove=True)
    return True


def _new_trash(folder: Path, id: str) -> Path:
    name = f"{id}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    target, count = folder / name, 1
    while True:
        try:
            target.mkdir(0o700)
            return target
        except FileExistsError:
            target, count = folder / f"{name}-{count}", count + 1


def _rows(store: Locations) -> dict[str, Row]:
    known = _read_index(store) or {}
    ids = [path.stem for path in store.conversations.glob("*.jsonl") if valid_conversation_id(path.stem)]
    rows = {id: row for id in ids if (row := _row(store.conversations / f"{id}.jsonl", known.get(id))) is not None}
    if {id: row for id, row in rows.items() if row.size >= 0} != known:
        with suppress(OSError):
            _write_index(store, rows)
    return rows


def _row(path: Path, known: Row | None) -> Row | None:
    """Make the row of a log; None for one that is gone or empty."""
    try:
        status = path.stat()
        if known is not None and (known.size, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
            return known
        return summarize(path) if status.st_size else None
    except FileNotFoundError:
        return None
    except OSError:
        return Row(Summary(path.stem, None, Path("/"), Path("/"), "", "", None, 0, None, False), -1, -1)


def _read_index(store: Locations) -> dict[str, Row] | None:
    """Read the rows of the index; None if it is missing, unreadable or of another version."""
    try:
        match read_json(store.conversations / "index.json"):
            case {"version": 1, "conversations": dict(rows)}:
                read = {str(id): Row.from_json(str(id), row) for id, row in rows.items()}
                return {id: row for id, row in read.items() if row is not None}
            case _:
                return None
    except (OSError, ValueError):
        return None


def _write_index(store: Locations, rows: dict[str, Row]) -> None:
    path = store.conversations / "index.json"
    with short_lock(store, "index", _INDEX_LOCK_SECONDS):
        if _read_index(store) is None and path.exists():
            if _newer_index(path):
                return
            set_aside(path)
        # Nothing of the old index is worth keeping: each row says which state of its log it was made from.
        conversations = {id: row.to_json() for id, row in sorted(rows.items()) if row.size >= 0}
        write_atomic(path, json_bytes({"version": _INDEX_VERSION, "conversations": conversations}))


def _newer_index(path: Path) -> bool:
    try:
        match read_json(path):
            case {"version": int(version)}:
                return version > _INDEX_VERSION
    except (OSError, ValueError):
        pass
    return False
