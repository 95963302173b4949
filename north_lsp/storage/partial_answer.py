"""The answer of a conversation that is not whole yet: it grows beside the log until it is an entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from north_lsp.storage.entries import Record
    from north_lsp.storage.log_storage import Stamp
    from north_lsp.storage.partial_file import PartialFile, Piece
    from north_lsp.storage.stored_log import StoredLog


class PartialAnswer:
    """Stores what has arrived of an answer in one conversation. Every method may be called from any thread, and raises
    no OSError."""

    def __init__(self, log: StoredLog) -> None:
        self.mask: Callable[[Record], Record] = lambda record: record
        self._log = log
        self._storage = log.storage.answer
        self._growing: PartialFile | None = None
        self._seen: tuple[Stamp, Record | None] | None = None

    def begin(self, message: Mapping[str, Any], entry_id: str) -> None:
        """Begin an answer that will be appended under that id; `message` is what is known of it besides its content."""
        with self._log.mutex:
            self.clear()
            state = self._log.state
            if self._log.has_written and entry_id not in state.ids:
                self._growing = self._storage.begin(entry_id, state.leaf, message, self.mask)

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
        """Leave what is stored as it is."""
        with self._log.mutex:
            if self._growing is not None:
                self._growing.close()
                self._growing = None

    def clear(self) -> None:
        """Remove what this process has stored: the answer is in the log by now, or there is none."""
        with self._log.mutex:
            if self._growing is not None:
                self.close()
                with suppress(OSError):
                    self._storage.remove()

    def arriving(self) -> Record | None:
        """Return what has arrived of the answer that another process gets, as the entry that it would be now."""
        if (stamp := self._storage.stamp()) is None:
            return None
        with self._log.mutex:
            if self._seen is None or self._seen[0] != stamp:
                self._seen = stamp, self._storage.read(self._log.state)
            found = self._seen[1]
            if found is None or found["id"] in self._log.state.ids:
                return None
            return self._log.lines.veil.loaded(found)

    def recover(self) -> bool:
        """Append what a killed process left of an answer, unless it lives; returns whether there was anything."""
        log = self._log
        with log.mutex:
            if self._storage.stamp() is None or log.state.read_only_reason is not None or log.lock() is not None:
                return False
            try:
                if (entry := self._storage.read(log.state)) is not None:
                    log.store(log.lines.veil.loaded(entry))
                    log.state.warn("an interrupted answer was recovered")
                if log.write_error is None:
                    with suppress(OSError):
                        self._storage.remove()
            finally:
                self.close()
                log.close()
        return entry is not None
