"""The log of one conversation on the disk, and what it adds up to in memory: who may write it, and when it is read
again since another process wrote it."""

import errno
import os
import threading
from contextlib import suppress
from pathlib import Path

from north_lsp.storage.entries import Record, new_entry_id
from north_lsp.storage.errors import ConversationBusy, ConversationClosed
from north_lsp.storage.files import keep_beside, private_directory, write_atomic
from north_lsp.storage.keeping_settings import Fsync
from north_lsp.storage.line_sync import LineSync
from north_lsp.storage.locks import LockHeld
from north_lsp.storage.log_file import LogFile
from north_lsp.storage.log_state import LogState, appended, read_state
from north_lsp.storage.noting import note
from north_lsp.storage.ownership import Ownership
from north_lsp.storage.records import encode
from north_lsp.storage.veiled_lines import VeiledLines


class StoredLog:
    """That of one conversation. `mutex` is held by whoever calls a method that reads or changes the state.

    Writing never raises an OSError: what cannot be saved stays in memory, is tried again with each later line, and
    `write_error` says why.
    """

    def __init__(self, path: Path, state: LogState, file: LogFile) -> None:
        self.path = path
        self.state = state
        self.mutex = threading.RLock()
        self.ownership = Ownership(path)
        self.lines = VeiledLines(self.reserve_id)
        self.durability: Fsync = "turn"
        self.is_kept = True
        self.is_retired = False
        self.has_written = False
        """Whether this process has written anything since it took the lock."""
        self._file = file
        self._saved = file.size is not None
        self._reserved: set[str] = set()
        self._refused: OSError | None = None
        self._syncing = threading.Lock()
        self._line_sync = LineSync(self.to_disk)

    @property
    def write_error(self) -> OSError | None:
        """Why something is not on disk, None once all of it is."""
        return self._refused or self._file.error

    @property
    def is_gone(self) -> bool:
        """Whether the log was there, and somebody has deleted it."""
        return self._saved and self._file.size is not None and not self.path.exists()

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
        if not self._saved and self.is_kept:
            with suppress(OSError):
                private_directory(self.path.parent)
            self._file.flush()
            self._saved = self._file.error is None
            self._file.close()

    def claim(self, *, starts: bool) -> None:
        """Take the lock if the next line goes to disk, before anything changes in memory; the first line of the user
        `starts` the file. Raises ConversationBusy and ConversationClosed."""
        if self.is_retired:
            raise ConversationClosed
        writes = self.state.read_only_reason is None and (self._saved or starts)
        if writes and (holder := self.lock()) is not None:
            raise ConversationBusy(holder)
        if writes and self.state.former is not None:
            self._write_anew(self.state.former)
        self._saved = self._saved or starts

    def store(self, record: Record) -> Record:
        """Add a record that is allowed, and return it. `claim` comes first."""
        line = self.lines.line(record)
        self.record_numbers()
        self.state.add(record)
        if self.state.read_only_reason is not None:
            self._refused = OSError(errno.EROFS, self.state.read_only_reason, str(self.path))
            return record
        if self.state.former is not None or not self.is_kept:  # what could not be rewritten is tried again
            return record
        self._file.add(line)
        if self._saved:
            self.has_written = True
            self._file.flush()
            if self.durability == "always":
                self._line_sync.wake()
        return record

    def record_numbers(self) -> None:
        """Write which numbers have been given to secrets, before the lines that have them."""
        for row in self.lines.take_numbers():
            self.store(row)

    def record_secrets(self) -> None:
        """Write which numbers have been given to secrets, if there is a log that can be written."""
        if self._saved and not self.is_retired and self.lock() is None:
            self.record_numbers()

    def content(self) -> bytes:
        """Return all lines after the first, as they are on the disk. Raises OSError if they are not all there."""
        if self.state.former is not None:
            return b"".join(map(self.lines.line, self.state.former[1:]))
        self._file.flush()
        if self.write_error is not None:
            raise self.write_error
        data = self.path.read_bytes().partition(b"\n")[2]
        return data if data.endswith(b"\n") or not data else data + b"\n"

    def to_disk(self) -> None:
        """Wait until everything written so far is on the disk. The mutex is free meanwhile."""
        with self._syncing:
            with self.mutex:
                sync = self._file.begin_sync() if self.has_written else None
            if sync is not None:
                error = sync.wait()
                with self.mutex:
                    self._file.end_sync(sync, error)

    def close(self) -> None:
        """Release the lock, so that others can write. Storing again takes it again."""
        if self.has_written:
            self._file.flush()
        self._line_sync.close()
        self._file.close()
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
        known = self._file.size
        if self.ownership.is_mine or known is None or self._file.has_unsent or self.is_retired:
            return False
        size = os.stat(self.path).st_size
        if size == known:
            return False
        if size < known or self.state.former is not None or not self._file.is_complete:
            self._catch_up()
            return True
        with self.path.open("rb") as file:
            file.seek(known)
            more = appended(file.read(size - known))
        if more is None:
            self._catch_up()
            return True
        records, count = more
        for record in self.lines.restored(records):
            self.state.add(record)
        self._file.grew(known + count)
        return count > 0

    def _catch_up(self) -> None:
        """Read what another process wrote after this one read the log and before it took the lock."""
        if self._file.size is None or self._file.has_unsent:
            return
        with suppress(OSError):
            if os.stat(self.path).st_size == self._file.size:
                return
            data = self.path.read_bytes()
            before, self.state = self.state, read_state(data)
            self.lines.restore(self.state)
            self.state.revision += before.revision + 1
            self.state.branchings += before.branchings + 1  # whoever has read the former state begins anew
            self._file.reread(data)

    def _write_anew(self, records: list[Record]) -> None:
        """Rewrite a log of another format in today's; the former file is kept next to it."""
        kept: dict[object, list[bytes]] = {}
        for before, line in self.state.unreadable:
            kept.setdefault(before, []).append(line + b"\n")
        lines = [encode(records[0]), *kept.pop(None, ())]
        for record in records[1:]:
            lines += [self.lines.line(record), *kept.pop(record["id"], ())]
        data = b"".join([*lines, *(line for rest in kept.values() for line in rest)])
        try:
            former = self.state.header.get("formerFormat")
            keep_beside(self.path, f"{self.path.name}.bak-{former}")
            write_atomic(self.path, data)
        except OSError as error:
            self._refused = error
            return
        note("session_migrated", sessionId=self.path.stem, formerFormat=former, entries=len(records) - 1)
        self._refused, self.state.former, self.state.unreadable = None, None, []
        self._file.close()
        self._file.reread(data)
