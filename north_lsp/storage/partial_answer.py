"""The answer of a conversation that is not whole yet: it grows in a file beside the log until it is an entry."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from north_lsp.storage.entries import Record
from north_lsp.storage.log_state import LogState
from north_lsp.storage.partial_file import PartialFile, Piece, recover

Stamp = tuple[int, int]


class PartialAnswer:
    """That of one conversation, by the path of its log. All but `add` and `stamp` are for one thread at a time."""

    def __init__(self, log: Path) -> None:
        self.path = log.with_suffix(".partial.jsonl")
        self._former = log.with_suffix(".partial.json")
        self._growing: PartialFile | None = None
        self._seen: tuple[Stamp, Record | None] | None = None
        self.mask: Callable[[Record], Record] = lambda record: record

    @property
    def is_growing(self) -> bool:
        return self._growing is not None

    def begin(self, entry_id: str, parent: str | None, message: Mapping[str, Any]) -> None:
        """Begin an answer, which gets that id and follows `parent`."""
        self._growing = PartialFile(self.path, entry_id, parent, message, self.mask)

    def add(self, kind: Piece, index: int, value: object) -> None:
        if (growing := self._growing) is not None:
            growing.add(kind, index, value)

    def flush(self) -> None:
        """Write what has arrived. Best effort: an OSError is ignored."""
        if (growing := self._growing) is not None:
            growing.flush()

    def close(self) -> None:
        """Leave the file as it is."""
        if self._growing is not None:
            self._growing.close()
            self._growing = None

    def clear(self) -> None:
        """Remove what this process has written."""
        if self._growing is not None:
            self.close()
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def stamp(self) -> Stamp | None:
        """Return the state of the file, which changes with it; None if there is none."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns

    def read(self, stamp: Stamp, state: LogState) -> Record | None:
        """Return what another process has written, as the entry that it would be now; None if it is one already."""
        if self._seen is None or self._seen[0] != stamp:
            self._seen = stamp, recover(self.path, state)
        found = self._seen[1]
        return found if found is not None and found["id"] not in state.ids else None

    def left(self) -> list[Path]:
        """Return the files there are; an older North wrote the answer whole, under another name."""
        return [path for path in (self.path, self._former) if path.exists()]
