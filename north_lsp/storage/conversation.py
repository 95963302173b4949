"""One conversation: its log, stored somewhere, and its state in memory. Append-only; one process at a time writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from north_lsp.storage.disk_log import DiskLog
from north_lsp.storage.entries import (
    ANNOTATION_TYPES,
    HEADER,
    VERSION,
    is_from_user,
    timestamp,
    valid_conversation_id,
)
from north_lsp.storage.errors import ConversationBusy, ConversationClosed, UnknownConversation
from north_lsp.storage.files import inode_of, read_regular
from north_lsp.storage.log_state import LogState, is_tree_entry, read_state
from north_lsp.storage.partial_answer import PartialAnswer
from north_lsp.storage.records import encode, storable
from north_lsp.storage.stored_log import StoredLog

if TYPE_CHECKING:
    from north_lsp.storage.entries import (
        Record,
    )
    from north_lsp.storage.keeping_settings import Fsync
    from north_lsp.storage.locations import Locations
    from north_lsp.storage.locks import LockHeld
    from north_lsp.storage.log_state import Growth, Known
    from north_lsp.storage.log_storage import LogStorage, Ownership
    from north_lsp.storage.veil import Veil

__all__ = ["Conversation", "ConversationBusy", "ConversationClosed", "UnknownConversation"]

_LARGEST_LOG = 2 << 30
_RESOLVED = {"write": "rejected", "shell": "denied"}


class Conversation:
    """A conversation, made by `create` or `open`. Every method may be called from any thread.

    Writing never raises an OSError: what cannot be saved stays in memory, is tried again with each later line, and
    `write_error` says why. A conversation with a `read_only_reason` has new entries in memory only. What is the same
    wherever a conversation is stored is here; what differs is in its `LogStorage`.
    """

    def __init__(self, storage: LogStorage, state: LogState, *, is_there: bool) -> None:
        self.id = storage.path.stem
        self.path = storage.path
        self._stored = StoredLog(storage, state, is_there=is_there)
        self._mutex = self._stored.mutex
        self.answer = PartialAnswer(self._stored)
        """The one that arrives."""

    @classmethod
    def create(
        cls,
        store: Locations,
        *,
        repo_root: Path,
        repo_hash: str,
        cwd: Path,
        model: str,
        client: Mapping[str, object] | None,
        north_version: str,
        storage: LogStorage | None = None,
        parent: Mapping[str, object] | None = None,
    ) -> Conversation:
        """Create a conversation, in memory only until `keep`, or until the user's first message is appended. Without a
        `storage` of its own it is saved among all others; `parent` says where it comes from."""
        storage = storage or DiskLog.new(store.conversations)
        header: Record = {
            "type": HEADER,
            "version": VERSION,
            "id": storage.path.stem,
            "timestamp": timestamp(),
            "repoRoot": str(repo_root),
            "repoHash": repo_hash,
            "cwd": str(cwd),
            "model": model,
        }
        header |= {"rootInode": inode} if (inode := inode_of(repo_root)) is not None else {}
        header |= {"client": client} if client is not None else {}
        header |= {"parentSession": dict(parent)} if parent is not None else {}
        state = LogState(storable(header | {"northVersion": north_version}))
        storage.add(encode(state.header))
        return cls(storage, state, is_there=False)

    @classmethod
    def open(cls, store: Locations, id: str) -> Conversation:
        """Read a stored conversation, with an answer that a crash cut off. Raises UnknownConversation and OSError."""
        if not valid_conversation_id(id):
            raise UnknownConversation(id)
        path = store.conversations / f"{id}.jsonl"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise UnknownConversation(id) from None
        conversation = cls(DiskLog(path, data), read_state(data), is_there=True)
        conversation.answer.recover()
        return conversation

    @classmethod
    def look_at(cls, path: Path) -> Conversation:
        """Read a log for reading alone, whoever writes it: with as much as there is of an answer that still streams.
        Nothing is written, and no lock is taken. Raises OSError."""
        data = read_regular(path, _LARGEST_LOG)
        conversation = cls(DiskLog(path, data), read_state(data), is_there=True)
        if (entry := conversation._stored.storage.answer.read(conversation._state)) is not None:
            conversation._state.add(entry)
        conversation._stored.is_retired = True
        return conversation

    # -- what is in it ---------------------------------------------------------------------------------------------

    @property
    def _state(self) -> LogState:
        return self._stored.state

    @property
    def header(self) -> Record:
        return self._state.header

    @property
    def entries(self) -> list[Record]:
        """All tree entries, in the order of the file."""
        return self._state.entries

    @property
    def leaf(self) -> str | None:
        return self._state.leaf

    @property
    def title(self) -> str | None:
        return self._state.title

    @property
    def title_source(self) -> str:
        """Who made the title: auto, plan or user."""
        return self._state.title_source

    @property
    def labels(self) -> Mapping[str, str]:
        """The names that the user gave to entries, by the entry's id."""
        return self._state.labels

    @property
    def archived(self) -> bool:
        return self._state.archived

    @property
    def was_left(self) -> bool:
        """Whether the last process to write it left a turn that the next one can continue with."""
        return self._state.was_left

    @property
    def used_aside(self) -> list[Record]:
        """What was used by requests that are no part of a turn."""
        with self._mutex:
            return list(self._state.used_aside)

    @property
    def queue(self) -> list[dict[str, str]]:
        """The queued prompts, not yet part of the conversation: `id`, `kind`, `mode`, `text`."""
        return self._state.queue

    @property
    def warnings(self) -> list[str]:
        return self._state.warnings

    @property
    def read_only_reason(self) -> str | None:
        return self._state.read_only_reason

    @property
    def write_error(self) -> OSError | None:
        """Why something is not on disk, None once all of it is."""
        return self._stored.write_error

    @property
    def durability(self) -> Fsync:
        """When lines are brought to the disk."""
        return self._stored.durability

    @durability.setter
    def durability(self, when: Fsync) -> None:
        self._stored.durability = when

    @property
    def is_saved(self) -> bool:
        """Whether it outlives this process, so that it can be listed, found, copied and continued."""
        return self._stored.storage.is_saved

    @property
    def folder(self) -> Path:
        """Where files that belong to the conversation are kept; it may not exist yet."""
        return self.path.with_suffix("")

    def active_path(self) -> list[Record]:
        """Return the entries from the root to the leaf."""
        with self._mutex:
            return self._state.active_path()

    def path_to(self, entry_id: str) -> list[Record]:
        """Return the entries from a root to this one. Raises ValueError if it is unknown."""
        with self._mutex:
            if entry_id not in self._state.by_id:
                raise ValueError(f"there is no entry {entry_id!r}")
            return self._state.path_to(entry_id)

    def belongs_to(self, repo_hash: str) -> bool:
        """Tell whether it is about that project, or once was; a log that does not tell belongs to any project."""
        return not self._state.repo_hashes or repo_hash in self._state.repo_hashes

    def look(self, revision: int, known: int) -> tuple[int, list[Record]]:
        """Return a number and the active path: as long as the number is the same, the path has only grown. If it is
        still `revision`, of which the caller knows so many entries, only those after them are returned."""
        with self._mutex:
            now = self._state.active_path(known if revision == self._state.revision else 0)
            return self._state.revision, now

    def growth(self, known: Known | None) -> Growth:
        """Return what is new since a caller has read as much as is `known`."""
        with self._mutex:
            return self._state.growth(known)

    def wear(self, veil: Veil) -> None:
        """Mask from now on what is written, and put back what the log has masked."""
        with self._mutex:
            self._stored.lines.veil = veil
            self.answer.mask = veil.masked
            self._stored.lines.restore(self._state)

    # -- writing ---------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write a new conversation before anything is said in it, so that it can be reopened; the lock is not held."""
        with self._mutex:
            self._stored.keep()

    def append(self, type: str, /, *, entry_id: str | None = None, **payload: Any) -> Record:
        """Add an entry after the leaf, as the new leaf, and return it as stored. Raises ConversationBusy and
        ConversationClosed."""
        if type in ANNOTATION_TYPES:
            raise ValueError(f"{type} is an annotation")
        with self._mutex:
            self._stored.claim(starts=is_from_user(type, payload))
            id = self.reserve_id() if entry_id is None else entry_id
            if id in self._state.ids:
                raise ValueError(f"the id {id} is taken")
            fixed = {"type": type, "id": id, "parentId": self._state.leaf, "timestamp": timestamp()}
            return self._stored.store(storable(fixed | payload | fixed))

    def annotate(self, type: str, /, **payload: Any) -> Record:
        """Add an annotation and return it as stored; it takes effect at once.

        Raises ConversationBusy, and ValueError for an `entry_updated` that is not allowed.
        """
        with self._mutex:
            self._stored.claim(starts=False)
            fixed = {"type": type, "id": self.reserve_id(), "timestamp": timestamp()}
            record = storable(fixed | payload | fixed)
            if is_tree_entry(record):
                raise ValueError(f"{type} is not an annotation")
            if type == "entry_updated":
                problem = self._state.update_problem(record.get("targetId"), record.get("patch"))
                if problem is not None:
                    raise ValueError(problem)
            return self._stored.store(record)

    def move_leaf(self, leaf: str | None, reason: str) -> None:
        """Continue after another entry from now on; None starts over. Raises ConversationBusy, and ValueError for an
        unknown entry."""
        with self._mutex:
            self._stored.claim(starts=False)  # it may read what another process wrote
            if leaf is not None and leaf not in self._state.by_id:
                raise ValueError(f"there is no entry {leaf!r}")
            self.annotate("leaf_moved", leafId=leaf, reason=reason)

    def lines(self) -> bytes:
        """Return all lines after the first, as they are stored. Raises OSError if they are not all there."""
        with self._mutex:
            return self._stored.content()

    def line(self, record: Record) -> bytes:
        """Return a record as a line of the log."""
        return self._stored.lines.line(record)

    def masked(self, text: str) -> str:
        """Return a text as the log would have it."""
        return self._stored.lines.veil.masked_text(text)

    def record_secrets(self) -> None:
        """Write which numbers have been given to secrets, for a log beside this one that has them."""
        with self._mutex:
            self._stored.record_secrets()

    def unknown_secrets(self, text: str) -> list[str]:
        """Return the placeholders in a text that nobody can restore any more."""
        return self._stored.lines.veil.unknown_in(text)

    def copied(self, records: Iterable[Record]) -> bytes:
        """Return records as lines for another log, with what that one has to know of the secrets in them."""
        with self._mutex:
            return self._stored.lines.copied(records, self._state.annotations)

    def reserve_id(self) -> str:
        """Reserve an id for an entry that will be appended later, with `entry_id`."""
        return self._stored.reserve_id()

    def resolve_pending(self) -> int:
        """Refuse the reviews that nobody will answer any more; return how many. Raises ConversationBusy."""
        with self._mutex:
            if not self._state.pending_reviews():
                return 0
            self._stored.claim(starts=False)
            # Asked again: taking the lock may have read what another process decided.
            pending = self._state.pending_reviews()
            for entry in pending:
                status = _RESOLVED.get(str(entry.get("kind")), "cancelled")
                self.annotate("entry_updated", targetId=entry["id"], patch={"status": status})
            return len(pending)

    def sync(self) -> None:
        """Wait until everything written so far is on the disk, unless the user leaves that to the system. Call it on a
        thread: it can take long."""
        if self.durability != "never":
            self._stored.to_disk()

    def end(self, reason: str) -> None:
        """Mark the end, if anything was written here."""
        with self._mutex:
            if self._stored.has_written:
                self.annotate("conversation_ended", reason=reason)

    def close(self) -> None:
        """Release the lock, so that others can write. Appending again takes it again."""
        with self._mutex:
            self.answer.close()
            self._stored.close()

    def retire(self) -> None:
        """Close it permanently: nothing can be written through this object any more."""
        with self._mutex:
            self.close()
            self._stored.is_retired = True

    def forget(self) -> None:
        """Remove what must not outlive a retired conversation, if it is not saved. Call it on a thread: it can take
        long."""
        self._stored.storage.forget()

    # -- together with other processes -------------------------------------------------------------------------------

    @property
    def ownership(self) -> Ownership:
        """Which process writes it."""
        return self._stored.ownership

    @property
    def is_writer(self) -> bool:
        return self.ownership.is_mine

    def lock(self) -> LockHeld | None:
        """Become the writer, which appending does by itself. Returns the other process that is, or None on success.
        Raises ConversationClosed: nobody would let go of a lock that is taken after the end."""
        with self._mutex:
            return self._stored.lock()

    def holder(self) -> LockHeld | None:
        """Return another process that writes it now, without taking the lock; None if there is none."""
        with self._mutex:
            return self.ownership.holder()

    @property
    def is_gone(self) -> bool:
        """Whether the log was there, and somebody has deleted it."""
        return self._stored.is_gone

    @contextmanager
    def borrowed(self) -> Iterator[bool]:
        """Be the writer for a moment; False if that is not possible, or if this process is the writer anyway."""
        with self._mutex:
            if self._stored.is_retired or self.is_writer or self.lock() is not None:
                yield False
                return
            try:
                yield True
            finally:
                self.close()

    def leave(self) -> None:
        """Tell other processes that this one only ends what it has begun."""
        with self._mutex:
            self.ownership.sign(is_leaving=True)

    def disown(self, reason: str) -> None:
        """Continue in memory alone, since the stored conversation is not this one's any more."""
        with self._mutex:
            self.answer.clear()
            self.close()
            self._state.read_only_reason = self._state.read_only_reason or reason

    def refresh(self) -> bool:
        """Read what another process has appended; returns whether there was anything. Raises OSError."""
        with self._mutex:
            return self._stored.refresh()
