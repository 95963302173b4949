"""A log in a file, beside it its lock, the answer that arrives, and the conversation's folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from north_lsp.storage.entries import free_conversation_id
from north_lsp.storage.files import keep_beside, private_directory, write_atomic
from north_lsp.storage.log_file import LogFile
from north_lsp.storage.ownership import FileOwnership
from north_lsp.storage.partial_file import PartialFile, recover

if TYPE_CHECKING:
    from north_lsp.storage.entries import Record
    from north_lsp.storage.log_file import Sync
    from north_lsp.storage.log_state import LogState
    from north_lsp.storage.log_storage import AnswerStorage, Ownership, Stamp


class DiskLog:
    """A `LogStorage` in files. `content` is what the log is known to hold, None for one that is made with its first
    line."""

    is_saved = True

    def __init__(self, path: Path, content: bytes | None) -> None:
        self.path = path
        self.ownership: Ownership = FileOwnership(path)
        self.answer: AnswerStorage = AnswerFile(path)
        self._file = LogFile(path, content)

    @classmethod
    def new(cls, folder: Path, id: str | None = None) -> DiskLog:
        """Return that of a new conversation in a folder. Nothing is written yet."""
        return cls(folder / f"{id or free_conversation_id(folder)}.jsonl", None)

    @property
    def is_gone(self) -> bool:
        return self._file.size is not None and not self.path.exists()

    @property
    def error(self) -> OSError | None:
        return self._file.error

    def add(self, line: bytes) -> None:
        self._file.add(line)

    def flush(self) -> None:
        if self._file.size is None:
            with suppress(OSError):  # the write itself will fail
                private_directory(self.path.parent)
        self._file.flush()

    def begin_sync(self) -> Sync | None:
        return self._file.begin_sync()

    def end_sync(self, sync: Sync, error: OSError | None) -> None:
        self._file.end_sync(sync, error)

    def lines(self) -> bytes:
        self._file.flush()
        if self._file.error is not None:
            raise self._file.error
        data = self.path.read_bytes().partition(b"\n")[2]
        return data if data.endswith(b"\n") or not data else data + b"\n"

    def news(self) -> bytes | None:
        known = self._file.size
        if known is None or self._file.has_unsent:
            return b""
        size = os.stat(self.path).st_size
        if size == known:
            return b""
        if size < known or not self._file.is_complete:
            return None
        with self.path.open("rb") as file:
            file.seek(known)
            return file.read(size - known)

    def grew(self, count: int) -> None:
        self._file.grew((self._file.size or 0) + count)

    def reread(self) -> bytes | None:
        if self._file.size is None or self._file.has_unsent:
            return None
        with suppress(OSError):
            if os.stat(self.path).st_size != self._file.size:
                data = self.path.read_bytes()
                self._file.reread(data)
                return data
        return None

    def replace(self, data: bytes, former: object) -> None:
        keep_beside(self.path, f"{self.path.name}.bak-{former}")
        write_atomic(self.path, data)
        self._file.close()
        self._file.reread(data)

    def close(self) -> None:
        self._file.close()

    def forget(self) -> None:
        pass


class AnswerFile:
    """An `AnswerStorage` in a file beside the log."""

    def __init__(self, log: Path) -> None:
        self._path = log.with_suffix(".partial.jsonl")
        self._former = log.with_suffix(".partial.json")  # an older North wrote the answer whole

    def begin(
        self, entry_id: str, parent: str | None, message: Mapping[str, Any], mask: Callable[[Record], Record]
    ) -> PartialFile | None:
        return PartialFile(self._path, entry_id, parent, message, mask)

    def stamp(self) -> Stamp | None:
        for path in (self._path, self._former):
            with suppress(OSError):
                status = os.stat(path)
                return status.st_size, status.st_mtime_ns
        return None

    def read(self, state: LogState) -> Record | None:
        return recover(self._path, state) or recover(self._former, state)

    def remove(self) -> None:
        for path in (self._path, self._former):
            path.unlink(missing_ok=True)
