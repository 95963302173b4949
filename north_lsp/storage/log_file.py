"""The end of a log where lines are added. A failed write keeps the lines and is tried again before the next one."""

import errno
import os
from contextlib import suppress
from pathlib import Path

from north_lsp.storage.files import sync_directory

_UNSUPPORTED = (errno.EINVAL, errno.EROFS, errno.ENOTSUP)


class LogFile:
    """Appends to one file, whose only writer it is. Not safe for several threads at once.

    `content` is what the file is known to hold, None to create it.
    """

    def __init__(self, path: Path, content: bytes | None) -> None:
        self._path = path
        self._size: int | None = None
        self._complete = True
        self._begun = b""  # what the file already has of the line that `_unsent` continues
        self._unsent = b""
        self._fd: int | None = None
        self._new = content is None
        self._error: OSError | None = None
        self._sync_error: OSError | None = None
        if content is not None:
            self.reread(content)

    @property
    def error(self) -> OSError | None:
        """Why lines are only in memory, until they are written after all; a failed fsync stays for good."""
        return self._error or self._sync_error

    @property
    def size(self) -> int | None:
        return self._size

    @property
    def has_unsent(self) -> bool:
        return bool(self._unsent)

    def reread(self, content: bytes) -> None:
        """The file holds this now."""
        self._size, self._complete = len(content), not content or content.endswith(b"\n")

    def add(self, line: bytes) -> None:
        """Take a complete line; `flush` writes it."""
        if not self._complete:
            self._unsent, self._complete = self._unsent + b"\n", True
        self._unsent += line

    def flush(self) -> None:
        """Write what there is, as one write. An OSError is kept in `error`."""
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

    def sync_handle(self) -> int | None:
        """A descriptor for `sync_to_disk` after a flush, or None if nothing was written through this object."""
        self.flush()
        return os.dup(self._fd) if self._fd is not None else None

    def sync_to_disk(self, handle: int) -> None:
        """Wait until the disk has it; safe beside `add` and `flush` in another thread."""
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                self._sync_error = error
        finally:
            os.close(handle)
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
            self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | create, 0o600)
            actual = os.fstat(self._fd).st_size
            if self._size is not None and actual != self._size:
                # Someone without the lock was here. A line twice is better than a line in pieces.
                self._unsent, self._begun = b"\n" + self._begun + self._unsent, b""
            self._size = actual
        elif os.fstat(self._fd).st_nlink == 0:
            raise FileNotFoundError(errno.ENOENT, "the log was deleted", str(self._path))
        return self._fd

    def _advance(self, count: int) -> None:
        sent, self._unsent = self._unsent[:count], self._unsent[count:]
        self._begun = (self._begun + sent).rpartition(b"\n")[2]
        self._size = (self._size or 0) + count
