"""The log of one conversation: what it adds up to in memory, and where it is stored; who may write it, and when it is
read again since another process wrote it."""

from __future__ import annotations

import errno
import threading
from typing import TYPE_CHECKING

from north_lsp.storage.entries import new_entry_id
from north_lsp.storage.errors import ConversationBusy, ConversationClosed
from north_lsp.storage.line_sync import LineSync
from north_lsp.storage.log_state import appended, read_state
from north_lsp.storage.noting import note
from north_lsp.storage.records import encode
from north_lsp.storage.veiled_lines import VeiledLines

if TYPE_CHECKING:
    from north_lsp.storage.entries import Record
    from north_lsp.storage.keeping_settings import Fsync
    from north_lsp.storage.locks import LockHeld
    from north_lsp.storage.log_state import LogState
    from north_lsp.storage.log_storage import LogStorage


class StoredLog:
    """Appends to and rereads the log of one conversation. `mutex` is held by whoever calls a method that reads or
    changes the state.

    Writing never raises an OSError: what cannot be saved stays in memory, is tried again with each later line, and
    `write_error` says why.
    """

    def __init__(self, storage: LogStorage, state: LogState, *, is_there: bool) -> None:
        self.storage = storage
        self.state = state
        self.mutex = threading.RLock()
        self.ownership = storage.ownership
        self.lines = VeiledLines(self.reserve_id)
        self.durability: Fsync = "turn"
        self.is_retired = False
        self.has_written = False
        """Whether this process has written anything since it took the lock."""
        self._is_there = is_there
        self._reserved: set[str] = set()
        self._refused: OSError | None = None
        self._syncing = threading.Lock()
        self._line_sync = LineSync(self.to_disk)

    @property
    def write_error(self) -> OSError | None:
        """Why something is not on disk, None once all of it is."""
        return self._refused or self.storage.error

    @property
    def is_gone(self) -> bool:
        """Whether the log was there, and somebody has deleted it."""
        return self._is_there and self.storage.is_gone

    def reserve_id(self) -> str:
        """Reserve an id for an entry that is stored later."""
        with self.mutex:
            while (id := new_entry_id(self._reserved)) in self.state.ids:
                pass
            self._reserved.add(id)
            return id

    # -- writing ---------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Write a new log before anything is said in its conversation; the lock is not held."""
        if not self._is_there:
            self.storage.flush()
            self._is_there = self.storage.error is None
            self.storage.close()

    def claim(self, *, starts: bool) -> None:
        """Take the lock if the next line is stored, before anything changes in memory; the first line of the user
        `starts` the log. Raises ConversationBusy and ConversationClosed."""
        if self.is_retired:
            raise ConversationClosed
        writes = self.state.read_only_reason is None and (self._is_there or starts)
        if writes and (holder := self.lock()) is not None:
            raise ConversationBusy(holder)
        if writes and self.state.former is not None:
            self._write_anew(self.state.former)
        self._is_there = self._is_there or starts

    def store(self, record: Record) -> Record:
        """Add a record that is allowed, and return it. `claim` comes first."""
        line = self.lines.line(record)
        self.record_numbers()
        self.state.add(record)
        if self.state.read_only_reason is not None:
            self._refused = OSError(errno.EROFS, self.state.read_only_reason, str(self.storage.path))
            return record
        if self.state.former is not None:  # what could not be rewritten is tried again
            return record
        self.storage.add(line)
        if self._is_there:
            self.has_written = True
            self.storage.flush()
            if self.durability == "always":
                self._line_sync.wake()
        return record

    def record_numbers(self) -> None:
        """Write which numbers have been given to secrets, before the lines that have them."""
        for row in self.lines.take_numbers():
            self.store(row)

    def record_secrets(self) -> None:
        """Write which numbers have been given to secrets, if there is a log that can be written."""
        if self._is_there and not self.is_retired and self.lock() is None:
            self.record_numbers()

    def content(self) -> bytes:
        """Return all lines after the first, as they are stored. Raises OSError if they are not all there."""
        if self.state.former is not None:
            return b"".join(map(self.lines.line, self.state.former[1:]))
        return self.storage.lines()

    def to_disk(self) -> None:
        """Wait until everything written so far is on the disk. The mutex is free meanwhile."""
        with self._syncing:
            with self.mutex:
                sync = self.storage.begin_sync() if self.has_written else None
            if sync is not None:
                error = sync.wait()
                with self.mutex:
                    self.storage.end_sync(sync, error)

    def close(self) -> None:
        """Release the lock, so that others can write. Storing again takes it again."""
        if self.has_written:
            self.storage.flush()
        self._line_sync.close()
        self.storage.close()
        self.has_written = False
        self.ownership.release()

    # -- together with other processes -------------------------------------------------------------------------------

    def lock(self) -> LockHeld | None:
        """Become the writer. Returns the other process that is, or None on success. Raises ConversationClosed: nobody
        would let go of a lock that is taken after the end."""
        if self.is_retired:
            raise ConversationClosed
        if self.ownership.is_mine:
            return None
        if (held := self.ownership.take()) is not None:
            return held
        if self.ownership.is_mine:
            self._catch_up()
        return None

    def refresh(self) -> bool:
        """Read what another process has appended; returns whether there was anything. Raises OSError."""
        if self.ownership.is_mine or self.is_retired:
            return False
        news = self.storage.news()
        if news == b"":
            return False
        more = appended(news) if news is not None and self.state.former is None else None
        if more is None:
            self._catch_up()
            return True
        records, count = more
        for record in self.lines.restored(records):
            self.state.add(record)
        self.storage.grew(count)
        return count > 0

    def _catch_up(self) -> None:
        """Read what another process wrote after this one read the log and before it took the lock."""
        if (data := self.storage.reread()) is None:
            return
        before, self.state = self.state, read_state(data)
        self.lines.restore(self.state)
        self.state.revision += before.revision + 1
        self.state.branchings += before.branchings + 1  # whoever has read the former state begins anew

    def _write_anew(self, records: list[Record]) -> None:
        """Rewrite a log of another format in today's; the former file is kept next to it."""
        kept: dict[object, list[bytes]] = {}
        for before, line in self.state.unreadable:
            kept.setdefault(before, []).append(line + b"\n")
        lines = [encode(records[0]), *kept.pop(None, ())]
        for record in records[1:]:
            lines += [self.lines.line(record), *kept.pop(record["id"], ())]
        data = b"".join([*lines, *(line for rest in kept.values() for line in rest)])
        former = self.state.header.get("formerFormat")
        try:
            self.storage.replace(data, former)
        except OSError as error:
            self._refused = error
            return
        note("session_migrated", sessionId=self.storage.path.stem, formerFormat=former, entries=len(records) - 1)
        self._refused, self.state.former, self.state.unreadable = None, None, []
