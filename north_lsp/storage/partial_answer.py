"""The answer of a conversation that is not whole yet: it grows in a file beside the log until it is an entry."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from north_lsp.storage.entries import Record
from north_lsp.storage.partial_file import PartialFile, Piece, recover
from north_lsp.storage.stored_log import StoredLog

_Stamp = tuple[int, int]


class PartialAnswer:
    """That of one conversation. Every method may be called from any thread, and raises no OSError."""

    def __init__(self, log: StoredLog) -> None:
        self.path = log.path.with_suffix(".partial.jsonl")
        self.mask: Callable[[Record], Record] = lambda record: record
        self._former = log.path.with_suffix(".partial.json")  # an older North wrote the answer whole
        self._log = log
        self._growing: PartialFile | None = None
        self._seen: tuple[_Stamp, Record | None] | None = None

    def begin(self, message: Mapping[str, Any], entry_id: str) -> None:
        """Begin an answer that will be appended under that id; `message` is what is known of it besides its content."""
        with self._log.mutex:
            self.clear()
            state = self._log.state
            if self._log.has_written and entry_id not in state.ids:
                self._growing = PartialFile(self.path, entry_id, state.leaf, message, self.mask)

    def add(self, kind: Piece, index: int, value: object) -> None:
        """Add to it: text, thinking, the beginning of a call, its arguments, or a whole block."""
        if (growing := self._growing) is not None:
            growing.add(kind, index, value)

    def flush(self) -> None:
        """Write what has arrived of it, before it is shown."""
        if self._growing is None:
            return
        with self._log.mutex:
            if (growing := self._growing) is not None:  # else it was closed meanwhile, and the lock is somebody else's
                growing.flush()
                self._log.record_numbers()

    def close(self) -> None:
        """Leave the file as it is."""
        with self._log.mutex:
            if self._growing is not None:
                self._growing.close()
                self._growing = None

    def clear(self) -> None:
        """Remove what this process has written: the answer is in the log by now, or there is none."""
        with self._log.mutex:
            if self._growing is not None:
                self.close()
                with suppress(OSError):
                    self.path.unlink(missing_ok=True)

    def arriving(self) -> Record | None:
        """Return what has arrived of the answer that another process gets, as the entry that it would be now."""
        if (stamp := self._stamp()) is None:
            return None
        with self._log.mutex:
            if self._seen is None or self._seen[0] != stamp:
                self._seen = stamp, recover(self.path, self._log.state)
            found = self._seen[1]
            if found is None or found["id"] in self._log.state.ids:
                return None
            return self._log.lines.veil.loaded(found)

    def recover(self) -> bool:
        """Append what a killed process left of an answer, unless it lives; returns whether there was anything."""
        log, has_recovered = self._log, False
        with log.mutex:
            found = [path for path in (self.path, self._former) if path.exists()]
            if not found or log.state.read_only_reason is not None or log.lock() is not None:
                return False
            try:
                for path in found:
                    if (entry := recover(path, log.state)) is not None:
                        log.store(log.lines.veil.loaded(entry))
                        log.state.warn("an interrupted answer was recovered")
                        has_recovered = True
                    if log.write_error is None:
                        with suppress(OSError):
                            path.unlink(missing_ok=True)
            finally:
                self.close()
                log.close()
        return has_recovered

    def _stamp(self) -> _Stamp | None:
        """Return the state of the file, which changes with it; None if there is none."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns
