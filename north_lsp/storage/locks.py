"""Locks between processes. The kernel frees a lock when its owner dies; the file only says who the owner is."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import timestamp
from north_lsp.storage.noting import warn

_ATTEMPTS = 100
_LONGEST_NAME = 60


@dataclass(frozen=True)
class LockHeld:
    """Another holder of a lock, as far as its file tells. `client` is the editor that it serves; `is_leaving`: that
    editor has gone, and the holder only ends what it had begun."""

    pid: int | None
    host: str | None
    client: str | None = None
    is_leaving: bool = False

    def __str__(self) -> str:
        here = self.host in (None, systems.machine_name())
        where = "" if here else f" on {self.host}"
        process = f"process {self.pid or '(unknown)'}{where}"
        return f"{self.client}, {process}" if self.client else process


class FileLock:
    """A lock that this process holds until `release` or its death."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path = path
        self._fd = fd

    def sign(self, **about: object) -> None:
        """Say in the file who the owner is, and more `about` it. An OSError is ignored: nothing depends on it."""
        with suppress(OSError):
            _sign(self._fd, about)

    def release(self, *, remove: bool) -> None:
        """Release the lock; with `remove`, delete its file, if it is still the one that was locked. A file that stays
        names nobody any more, so that one which does was left by a process that died."""
        try:
            if not (remove and self._removed()):
                with suppress(OSError):
                    os.ftruncate(self._fd, 0)
        finally:
            os.close(self._fd)

    def _removed(self) -> bool:
        """Delete the file; returns whether it is gone. One that the disk does not let go stays."""
        try:
            if _same_file(self._path, self._fd):
                self._path.unlink(missing_ok=True)
        except OSError:
            return False
        return True


def try_lock(path: Path) -> FileLock | LockHeld:
    """Take the lock or say who has it, without waiting. Raises OSError where files cannot be locked at all."""
    for _ in range(_ATTEMPTS):
        fd = systems.open_file(path, os.O_RDWR | os.O_CREAT | systems.CLOEXEC, 0o600)
        try:
            systems.lock(fd)
            # The previous holder may have removed the file since it was opened here: then this lock means nothing.
            if _same_file(path, fd):
                if (dead := _holder(fd)).pid not in (None, os.getpid()):
                    warn("lock_stale_taken", name=path.name, owner=dead.pid)
                _sign(fd, {})
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


def _sign(fd: int, about: Mapping[str, object]) -> None:
    owner = json.dumps({"pid": os.getpid(), "host": systems.machine_name(), "at": timestamp(), **about})
    os.ftruncate(fd, 0)
    systems.write_at(fd, owner.encode(), 0)


def _holder(fd: int) -> LockHeld:
    try:
        owner = json.loads(systems.read_at(fd, 4096, 0))
    except ValueError:
        return LockHeld(None, None)
    if not isinstance(owner, dict):
        return LockHeld(None, None)
    pid, host, client = owner.get("pid"), owner.get("host"), owner.get("client")
    return LockHeld(
        pid if isinstance(pid, int) else None,
        host if isinstance(host, str) else None,
        one_line(client, _LONGEST_NAME) if isinstance(client, str) else None,
        owner.get("leaving") is True,
    )
