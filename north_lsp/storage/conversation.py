"""One conversation: its log on disk and its state in memory. Append-only; one process at a time writes."""

import errno
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from north_lsp.storage.entries import (
    ANNOTATION_TYPES,
    HEADER,
    VERSION,
    Record,
    free_conversation_id,
    is_from_user,
    new_entry_id,
    timestamp,
    valid_conversation_id,
)
from north_lsp.storage.errors import ConversationBusy, ConversationClosed, UnknownConversation
from north_lsp.storage.files import inode_of, keep_beside, private_directory, read_regular, write_atomic
from north_lsp.storage.keeping_settings import Fsync
from north_lsp.storage.line_sync import LineSync
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import LockHeld
from north_lsp.storage.log_file import LogFile
from north_lsp.storage.log_state import LogState, appended, is_tree_entry, read_state
from north_lsp.storage.noting import note
from north_lsp.storage.ownership import Ownership
from north_lsp.storage.partial_answer import PartialAnswer
from north_lsp.storage.partial_file import Piece, recover
from north_lsp.storage.records import encode, storable
from north_lsp.storage.veil import Veil
from north_lsp.storage.veiled_lines import VeiledLines

__all__ = ["Conversation", "ConversationBusy", "ConversationClosed", "UnknownConversation"]

_LARGEST_LOG = 2 << 30
_RESOLVED = {"write": "rejected", "shell": "denied"}


class Conversation:
    """A conversation, made by `create` or `open`. Every method may be called from any thread.

    Writing never raises an OSError: what cannot be saved stays in memory, is tried again with each later line, and
    `write_error` says why. A conversation with a `read_only_reason`, or one that is not `is_kept`, has new entries in
    memory only.
    """

    def __init__(self, path: Path, state: LogState, log: LogFile) -> None:
        self.id = path.stem
        self.path = path
        self._state = state
        self._log = log
        self._saved = log.size is not None
        self._wrote = False
        self._reserved: set[str] = set()
        self.ownership = Ownership(path)
        self._refused: OSError | None = None
        self._retired = False
        self.is_kept = True
        """Whether it is stored. Set it before anything is appended."""
        self._answer = PartialAnswer(path)
        self._lines = VeiledLines(self.reserve_id)
        self._mutex = threading.RLock()
        self.durability: Fsync = "turn"
        self._syncing = threading.Lock()
        self._line_sync = LineSync(self._to_disk)

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
        id: str | None = None,
        folder: Path | None = None,
        parent: Mapping[str, object] | None = None,
    ) -> "Conversation":
        """Create a conversation, in memory only until `keep`, or until the user's first message is appended. One in a
        `folder` of its own is in no list; `parent` says where it comes from."""
        folder = folder or store.conversations
        id = id or free_conversation_id(folder)
        header: Record = {
            "type": HEADER,
            "version": VERSION,
            "id": id,
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
        path = folder / f"{id}.jsonl"
        log = LogFile(path, None)
        log.add(encode(state.header))
        return cls(path, state, log)

    @classmethod
    def open(cls, store: Locations, id: str) -> "Conversation":
        """Read a stored conversation, with an answer that a crash cut off. Raises UnknownConversation and OSError."""
        if not valid_conversation_id(id):
            raise UnknownConversation(id)
        path = store.conversations / f"{id}.jsonl"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise UnknownConversation(id) from None
        conversation = cls(path, read_state(data), LogFile(path, data))
        conversation._recover_partial()
        return conversation

    @classmethod
    def look_at(cls, path: Path) -> "Conversation":
        """Read a log for reading alone, whoever writes it: with as much as there is of an answer that still streams.
        Nothing is written, and no lock is taken. Raises OSError."""
        data = read_regular(path, _LARGEST_LOG)
        conversation = cls(path, read_state(data), LogFile(path, data))
        if (entry := recover(conversation._answer.path, conversation._state)) is not None:
            conversation._state.add(entry)
        conversation._retired = True
        return conversation

    # -- what is in it ---------------------------------------------------------------------------------------------

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
        """Whether the last process to write it left a turn that the next one can go on with."""
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
        return self._refused or self._log.error

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

    def wear(self, veil: Veil) -> None:
        """Mask from now on what is written, and put back what the log has masked."""
        with self._mutex:
            self._lines.veil = veil
            self._answer.mask = veil.masked
            self._lines.restore(self._state)

    # -- writing ---------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write a new conversation before anything is said in it, so that it can be reopened; the lock is not held."""
        with self._mutex:
            if not self._saved and self.is_kept:
                with suppress(OSError):
                    private_directory(self.path.parent)
                self._log.flush()
                self._saved = self._log.error is None
                self._log.close()

    def append(self, type: str, /, *, entry_id: str | None = None, **payload: Any) -> Record:
        """Add an entry after the leaf, as the new leaf, and return it as stored. Raises ConversationBusy and
        ConversationClosed."""
        if type in ANNOTATION_TYPES:
            raise ValueError(f"{type} is an annotation")
        with self._mutex:
            self._claim(starts=is_from_user(type, payload))
            id = self.reserve_id() if entry_id is None else entry_id
            if id in self._state.ids:
                raise ValueError(f"the id {id} is taken")
            fixed = {"type": type, "id": id, "parentId": self._state.leaf, "timestamp": timestamp()}
            return self._store(storable(fixed | payload | fixed))

    def annotate(self, type: str, /, **payload: Any) -> Record:
        """Add an annotation and return it as stored; it takes effect at once.

        Raises ConversationBusy, and ValueError for an `entry_updated` that is not allowed.
        """
        with self._mutex:
            self._claim(starts=False)
            fixed = {"type": type, "id": self.reserve_id(), "timestamp": timestamp()}
            record = storable(fixed | payload | fixed)
            if is_tree_entry(record):
                raise ValueError(f"{type} is not an annotation")
            if type == "entry_updated":
                problem = self._state.update_problem(record.get("targetId"), record.get("patch"))
                if problem is not None:
                    raise ValueError(problem)
            return self._store(record)

    def move_leaf(self, leaf: str | None, reason: str) -> None:
        """Continue after another entry from now on; None begins anew. Raises ConversationBusy, and ValueError for an
        unknown entry."""
        with self._mutex:
            self._claim(starts=False)  # it may read what another process wrote
            if leaf is not None and leaf not in self._state.by_id:
                raise ValueError(f"there is no entry {leaf!r}")
            self.annotate("leaf_moved", leafId=leaf, reason=reason)

    def lines(self) -> bytes:
        """Return all lines after the first, as they are on the disk. Raises OSError if they are not all there."""
        with self._mutex:
            if self._state.former is not None:
                return b"".join(map(self.line, self._state.former[1:]))
            self._log.flush()
            if self.write_error is not None:
                raise self.write_error
            data = self.path.read_bytes().partition(b"\n")[2]
            return data if data.endswith(b"\n") or not data else data + b"\n"

    def line(self, record: Record) -> bytes:
        """Return a record as a line of the log."""
        return self._lines.line(record)

    def masked(self, text: str) -> str:
        """Return a text as the log would have it."""
        return self._lines.veil.masked_text(text)

    def record_secrets(self) -> None:
        """Write which numbers have been given to secrets, for a log beside this one that has them."""
        with self._mutex:
            if self._saved and not self._retired and self.lock() is None:
                self._record_numbers()

    def unknown_secrets(self, text: str) -> list[str]:
        """Return the placeholders in a text that nobody can restore any more."""
        return self._lines.veil.unknown_in(text)

    def copied(self, records: Iterable[Record]) -> bytes:
        """Return records as lines for another log, with what that one has to know of the secrets in them."""
        with self._mutex:
            return self._lines.copied(records, self._state.annotations)

    def reserve_id(self) -> str:
        """Reserve an id for an entry that will be appended later, with `entry_id`."""
        with self._mutex:
            while (id := new_entry_id(self._reserved)) in self._state.ids:
                pass
            self._reserved.add(id)
            return id

    def resolve_pending(self) -> int:
        """Refuse the reviews that nobody will answer any more; return how many. Raises ConversationBusy."""
        with self._mutex:
            if not self._state.pending_reviews():
                return 0
            self._claim(starts=False)
            # Asked again: taking the lock may have read what another process decided.
            pending = self._state.pending_reviews()
            for entry in pending:
                status = _RESOLVED.get(str(entry.get("kind")), "cancelled")
                self.annotate("entry_updated", targetId=entry["id"], patch={"status": status})
            return len(pending)

    def begin_partial(self, message: Mapping[str, Any], entry_id: str) -> None:
        """Begin an answer that will be appended under that id; `message` is what is known of it besides its content."""
        with self._mutex:
            self._answer.clear()
            if self._wrote and entry_id not in self._state.ids:
                self._answer.begin(entry_id, self._state.leaf, message)

    def append_partial(self, kind: Piece, index: int, value: object) -> None:
        """Add to the answer: text, thinking, the beginning of a call, its arguments, or a whole block."""
        self._answer.add(kind, index, value)

    def flush_partial(self) -> None:
        """Write what has arrived of the answer, before it is shown. Best effort: an OSError is ignored."""
        if self._answer.is_growing:
            with self._mutex:
                self._answer.flush()
                self._record_numbers()

    def clear_partial(self) -> None:
        """Remove the partial answer: the answer is in the log by now, or there is none."""
        with self._mutex:
            self._answer.clear()

    def sync(self) -> None:
        """Wait until everything written so far is on the disk, unless the user leaves that to the system. Call it on a
        thread: it can take long."""
        if self.durability != "never":
            self._to_disk()

    def _to_disk(self) -> None:
        with self._syncing:
            with self._mutex:
                sync = self._log.begin_sync() if self._wrote else None
            if sync is not None:
                error = sync.wait()
                with self._mutex:
                    self._log.end_sync(sync, error)

    def end(self, reason: str) -> None:
        """Mark the end, if anything was written here."""
        with self._mutex:
            if self._wrote:
                self.annotate("conversation_ended", reason=reason)

    def close(self) -> None:
        """Release the lock, so that others can write. Appending again takes it again."""
        with self._mutex:
            if self._wrote:
                self._log.flush()
            self._line_sync.close()
            self._log.close()
            self._answer.close()
            self._wrote = False
            self.ownership.release()

    def retire(self) -> None:
        """Close it for good: nothing can be written through this object any more."""
        with self._mutex:
            self.close()
            self._retired = True

    @property
    def is_writer(self) -> bool:
        return self.ownership.is_mine

    def lock(self) -> LockHeld | None:
        """Become the writer, which appending does by itself. Returns the other process that is, or None on success.
        Raises ConversationClosed: nobody would let go of a lock that is taken after the end."""
        with self._mutex:
            if self._retired:
                raise ConversationClosed
            if self.ownership.is_mine:
                return None
            if (held := self.ownership.take()) is not None:
                return held
            if self.ownership.is_mine:
                self._catch_up()
            return None

    def holder(self) -> LockHeld | None:
        """Return another process that writes it now, without taking the lock; None if there is none."""
        with self._mutex:
            return self.ownership.holder()

    # -- together with other processes -------------------------------------------------------------------------------

    @property
    def is_gone(self) -> bool:
        """Whether the log was there, and somebody has deleted it."""
        return self._saved and self._log.size is not None and not self.path.exists()

    @contextmanager
    def borrowed(self) -> Iterator[bool]:
        """Be the writer for a moment; False if that is not possible, or if this process is the writer anyway."""
        with self._mutex:
            if self._retired or self.is_writer or self.lock() is not None:
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
        """Go on in memory alone, since the stored conversation is not this one's any more."""
        with self._mutex:
            self.clear_partial()
            self.close()
            self._state.read_only_reason = self._state.read_only_reason or reason

    def refresh(self) -> bool:
        """Read what another process has appended; returns whether there was anything. Raises OSError."""
        with self._mutex:
            known = self._log.size
            if self.ownership.is_mine or known is None or self._log.has_unsent or self._retired:
                return False
            size = os.stat(self.path).st_size
            if size == known:
                return False
            if size < known or self._state.former is not None or not self._log.is_complete:
                self._catch_up()
                return True
            with self.path.open("rb") as file:
                file.seek(known)
                more = appended(file.read(size - known))
            if more is None:
                self._catch_up()
                return True
            records, count = more
            for record in self._lines.restored(records):
                self._state.add(record)
            self._log.grew(known + count)
            return count > 0

    def arriving(self) -> Record | None:
        """Return what has arrived of the answer that another process gets, as the entry that it would be now."""
        if (stamp := self._answer.stamp()) is None:
            return None
        with self._mutex:
            found = self._answer.read(stamp, self._state)
            return self._lines.veil.loaded(found) if found is not None else None

    def recover_partial(self) -> bool:
        """Append the answer that a killed process left; returns whether there was one."""
        with self._mutex:
            count = len(self._state.entries)
            self._recover_partial()
            return len(self._state.entries) > count

    # -- inside ----------------------------------------------------------------------------------------------------

    def _claim(self, *, starts: bool) -> None:
        """Take the lock if the next line goes to disk, before anything changes in memory."""
        if self._retired:
            raise ConversationClosed
        writes = self.read_only_reason is None and (self._saved or starts)
        if writes and (holder := self.lock()) is not None:
            raise ConversationBusy(holder)
        if writes and self._state.former is not None:
            self._write_anew(self._state.former)
        self._saved = self._saved or starts

    def _store(self, record: Record) -> Record:
        line = self.line(record)
        self._record_numbers()
        self._state.add(record)
        if self.read_only_reason is not None:
            self._refused = OSError(errno.EROFS, self.read_only_reason, str(self.path))
            return record
        if self._state.former is not None or not self.is_kept:  # what could not be rewritten is tried again
            return record
        self._log.add(line)
        if self._saved:
            self._wrote = True
            self._log.flush()
            if self.durability == "always":
                self._line_sync.wake()
        return record

    def _record_numbers(self) -> None:
        """Write which numbers have been given to secrets, before the lines that have them."""
        for row in self._lines.take_numbers():
            self._store(row)

    def _write_anew(self, records: list[Record]) -> None:
        """Rewrite a log of another format in today's; the former file is kept next to it."""
        kept: dict[object, list[bytes]] = {}
        for before, line in self._state.unreadable:
            kept.setdefault(before, []).append(line + b"\n")
        lines = [encode(records[0]), *kept.pop(None, ())]
        for record in records[1:]:
            lines += [self.line(record), *kept.pop(record["id"], ())]
        data = b"".join([*lines, *(line for rest in kept.values() for line in rest)])
        try:
            former = self.header.get("formerFormat")
            keep_beside(self.path, f"{self.path.name}.bak-{former}")
            write_atomic(self.path, data)
        except OSError as error:
            self._refused = error
            return
        note("session_migrated", sessionId=self.id, formerFormat=former, entries=len(records) - 1)
        self._refused, self._state.former, self._state.unreadable = None, None, []
        self._log.close()
        self._log.reread(data)

    def _catch_up(self) -> None:
        """Read what another process wrote after this one read the log and before it took the lock."""
        if self._log.size is None or self._log.has_unsent:
            return
        with suppress(OSError):
            if os.stat(self.path).st_size == self._log.size:
                return
            data = self.path.read_bytes()
            before, self._state = self._state.revision, read_state(data)
            self._lines.restore(self._state)
            self._state.revision += before + 1
            self._log.reread(data)

    def _recover_partial(self) -> None:
        """Append an interrupted answer, also one that an older North left."""
        found = self._answer.left()
        if self.read_only_reason is not None or not found:
            return
        if self.lock() is not None:
            return  # its writer is alive and still writing
        try:
            for path in found:
                if (entry := recover(path, self._state)) is not None:
                    self._store(self._lines.veil.loaded(entry))
                    self._state.warn("an interrupted answer was recovered")
                if self.write_error is None:
                    with suppress(OSError):
                        path.unlink(missing_ok=True)
        finally:
            self.close()
