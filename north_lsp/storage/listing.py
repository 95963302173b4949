"""Lists of conversations, from the index; and deleting one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from north_lsp.storage.conversation_index import ConversationIndex, Wanted
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.errors import ConversationBusy
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import FileLock, LockHeld, try_lock
from north_lsp.storage.summaries import Summary
from north_lsp.storage.trash import move_to_trash, names_with

__all__ = ["Summary", "delete_conversation", "delete_idle_conversation", "is_open", "list_conversations"]


def list_conversations(store: Locations, *, repo_hash: str | None = None, cwd: Path | None = None) -> list[Summary]:
    """List the stored conversations, newest first, archived ones too; of one project or one directory if given. Those
    in which nothing was said are left out; those about a directory are still found after it was moved.

    A log that cannot be read appears with what is known. Reads files: for a thread.
    """
    return ConversationIndex(store).listed(Wanted(repo_hash, cwd))


def is_open(store: Locations, id: str) -> bool:
    """Tell whether a process writes a conversation now."""
    path = store.conversations / f"{id}.lock"
    if not path.exists():
        return False
    with suppress(OSError):
        lock = try_lock(path)
        if isinstance(lock, LockHeld):
            return True
        lock.release(remove=True)
    return False


def delete_idle_conversation(store: Locations, id: str) -> bool:
    """Delete a conversation that nobody has open. Raises ConversationBusy while a running process writes it, and what
    `delete_conversation` raises."""
    return _delete(store, id, must_be_idle=True)


def delete_conversation(store: Locations, id: str) -> bool:
    """Move everything of a conversation to the trash; return whether there was anything. A process that has it open
    notices that, and continues in memory.

    Raises ValueError for what cannot be an id, and OSError.
    """
    return _delete(store, id, must_be_idle=False)


def _delete(store: Locations, id: str, *, must_be_idle: bool) -> bool:
    if not valid_conversation_id(id):
        raise ValueError(f"not the id of a conversation: {id!r}")
    if not names_with(store.conversations, id):
        return False
    lock = try_lock(store.conversations / f"{id}.lock")
    if must_be_idle and not isinstance(lock, FileLock):
        raise ConversationBusy(lock)
    try:
        return move_to_trash(store, id)
    finally:
        if isinstance(lock, FileLock):
            lock.release(remove=True)
