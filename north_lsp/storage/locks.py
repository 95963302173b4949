"""Locks between processes. The kernel frees a lock when its owner dies; the file only says who the owner is."""

import errno
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from north_lsp.storage.entries import timestamp

_ATTEMPTS = 100


@dataclass(frozen=True)
class LockHeld:
    """Another holder of a lock, as far as its file tells."""

    pid: int | None
    host: str | None

    def __str__(self) -> str:
        here = self.host in (None, os.uname().nodename)
        return f"process {self.pid or '(unknown)'}" + ("" if here else f" on {self.host}")


class FileLock:
    """A lock that this process holds until `release` or its death."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    def release(self, *, remove: bool) -> None:
        """Release the lock; with `remove`, delete its file, if it is still the one that was locked."""
        if remove and _same_file(self._path, self._fd):
            self._path.unlink(missing_ok=True)
        os.close(self._fd)


def try_lock(path: Path) -> FileLock | LockHeld:
    """Take the lock or say who has it, without waiting. Raises OSError where files cannot be locked at all."""
    for _ in range(_ATTEMPTS):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file since it was opened here: then this lock means nothing.
            if _same_file(path, fd):
                _sign(fd)
                return FileLock(path, fd)
        except BlockingIOError:
            held = _holder(fd)
            os.close(fd)
            return held
        except OSError:
            os.close(fd)
            raise
        os.close(fd)
    raise OSError(errno.EAGAIN, "the lock file keeps changing", str(path))


def _same_file(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def _sign(fd: int) -> None:
    owner = json.dumps({"pid": os.getpid(), "host": os.uname().nodename, "at": timestamp()})
    os.ftruncate(fd, 0)
    os.pwrite(fd, owner.encode(), 0)


def _holder(fd: int) -> LockHeld:
    try:
        owner = json.loads(os.pread(fd, 4096, 0))
    except ValueError:
        return LockHeld(None, None)
    pid, host = (owner.get("pid"), owner.get("host")) if isinstance(owner, dict) else (None, None)
    return LockHeld(pid if isinstance(pid, int) else None, host if isinstance(host, str) else None)
