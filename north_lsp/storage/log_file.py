"""Appends lines to a log. What could not be written, or brought to the disk, is tried again."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import sync_directory

_UNSUPPORTED = (errno.EINVAL, errno.EROFS, errno.ENOTSUP)


@dataclass(frozen=True)
class Sync:
    """One attempt to bring to the disk the first `size` bytes that it may lack. `wait` may run in any thread."""

    handle: int
    size: int

    def wait(self) -> OSError | None:
        """Wait until the disk has them. Returns why it does not, or None."""
        try:
            os.fsync(self.handle)
        except OSError as error:
            return None if error.errno in _UNSUPPORTED else error
        finally:
            with suppress(OSError):
                os.close(self.handle)
        return None


class LogFile:
    """Appends to one file, whose only writer it is. Not safe for several threads at once.

    `content` is what the file is known to hold, None to create it.
    """

    def __init__(self, path: Path, content: bytes | None) -> None:
        self._path = path
        self._size: int | None = None
        self._complete = True
        self._begun = b""  # the part of the line that `_unsent` continues, already in the file
        self._unsent = b""
        self._fd: int | None = None
        self._new = content is None
        self._error: OSError | None = None
        self._sync_error: OSError | None = None
        self._unsynced = b""  # the end of the file, which the disk may lack
        if content is not None:
            self.reread(content)

    @property
    def error(self) -> OSError | None:
        """Why lines are only in memory, or not on the disk; None once they are."""
        return self._error or self._sync_error

    @property
    def size(self) -> int | None:
        return self._size

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def reread(self, content: bytes) -> None:
        """Take over what the file holds now."""
        self._size, self._complete = len(content), not content or content.endswith(b"\n")
        self._unsynced = b""

    def grew(self, size: int) -> None:
        """Take over that another process has appended whole lines, up to this size."""
        self._size = size

    @property
    def is_complete(self) -> bool:
        """Whether the last line ends as a line does."""
        return self._complete

    def add(self, line: bytes) -> None:
        """Queue a complete line; `flush` writes it."""
        if not self._complete:
            self._unsent, self._complete = self._unsent + b"\n", True
        self._unsent += line

    def flush(self) -> None:
        """Write what is queued, in one write. An OSError is kept in `error`."""
        if not self._unsent:
            return
        try:
            fd = self._open()
            while self._unsent:
                self._advance(os.write(fd, self._unsent))
            self._error = None
        except OSError as error:
            self._error = error
            self.close()

    def begin_sync(self) -> Sync | None:
        """Begin an attempt to `wait` for, then to pass to `end_sync`; None if this object has written nothing."""
        self.flush()
        if self._fd is None:
            return None
        try:
            if self._sync_error is not None:
                # The system may have dropped what it could not bring to the disk: it is written again where it was.
                fd = systems.open_file(self._path, os.O_WRONLY | systems.CLOEXEC)
                start = (self._size or 0) - len(self._unsynced)
                systems.write_at(fd, self._unsynced, start)
            else:
                fd = os.dup(self._fd)
        except OSError as error:
            self._sync_error = error
            return None
        return Sync(fd, len(self._unsynced))

    def end_sync(self, sync: Sync, error: OSError | None) -> None:
        self._sync_error = error
        if error is None:
            self._unsynced = self._unsynced[sync.size :]
            if self._new:
                sync_directory(self._path.parent)
                self._new = False

    def close(self) -> None:
        if self._fd is not None:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            create = os.O_CREAT | os.O_EXCL if self._size is None else 0
            self._fd = systems.open_file(self._path, os.O_WRONLY | os.O_APPEND | systems.CLOEXEC | create, 0o600)
            actual = os.fstat(self._fd).st_size
            if self._size is not None and actual != self._size:
                # Someone wrote without the lock. A line twice is better than a line in pieces.
                self._unsent, self._begun = b"\n" + self._begun + self._unsent, b""
                self._unsynced = b""
            self._size = actual
        elif not os.path.samestat(os.stat(self._path), os.fstat(self._fd)):
            raise FileNotFoundError(errno.ENOENT, "the log was replaced", str(self._path))
        return self._fd

    def _advance(self, count: int) -> None:
        sent, self._unsent = self._unsent[:count], self._unsent[count:]
        self._begun = (self._begun + sent).rpartition(b"\n")[2]
        self._size = (self._size or 0) + count
        self._unsynced += sent
