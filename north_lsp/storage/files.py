"""Reads, replaces, sets aside and locks North's own small files."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import FileLock, LockHeld, try_lock
from north_lsp.storage.noting import note, warn

MAX_DATA_BYTES = 16 * 1024 * 1024
MAX_CONFIG_BYTES = 1024 * 1024
_SHORT_LOCK_SECONDS = 5.0
_SYNCED_AT_ONCE = 8
_FEW = 4
_HALF_A_DAY = 12 * 60 * 60.0


class LockTimeout(TimeoutError):
    """A short lock stayed taken; the text is "<name> is locked by process N"."""


def private_directory(path: Path) -> Path:
    """Create a directory and its missing parents, readable by this user only. Raises OSError."""
    if not path.is_dir():
        if path.parent != path:
            private_directory(path.parent)
        with suppress(FileExistsError):
            path.mkdir(0o700)
    return path


def inode_of(folder: Path) -> int | None:
    """Return a folder's inode number, which stays when it is moved; None for what is not a folder."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_ino if stat.S_ISDIR(status.st_mode) else None


def note_use(path: Path) -> None:
    """Have a file that somebody has open not count as old, whatever clears away what is. Raises OSError."""
    if time.time() - path.stat().st_mtime > _HALF_A_DAY:
        os.utime(path)


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically: a reader, even after a crash, sees the old content or the new one.

    A symbolic link is replaced, not followed. `mode` is narrowed by the umask. The directory must exist. On OSError
    the old file is as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        fd = systems.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.CLOEXEC, mode)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        systems.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def keep_beside(path: Path, name: str) -> None:
    """Keep a file under another name, too; a file that already has that name stays as it is. Raises OSError."""
    other = path.with_name(name)
    if not os.path.lexists(other):
        try:
            os.link(path, other)
        except OSError:
            write_atomic(other, path.read_bytes())


def sync_directory(path: Path) -> None:
    """Make new names in a directory durable, where the file system can."""
    with suppress(OSError):
        fd = systems.open_file(path, os.O_RDONLY | systems.DIRECTORY | systems.CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def sync_all(descriptors: Sequence[int]) -> list[OSError | None]:
    """Bring open files to the disk; return what went wrong with each. Many are asked for at once, on threads: a file
    system puts what it has to write for several into one journal entry, so that they do not wait one after the
    other."""
    failed: list[OSError | None] = [None] * len(descriptors)
    waiting = deque(enumerate(descriptors))

    def work() -> None:
        while waiting:
            try:
                at, descriptor = waiting.popleft()
            except IndexError:
                return  # another thread took the last one
            try:
                os.fsync(descriptor)
            except OSError as error:
                failed[at] = error

    threads = [threading.Thread(target=work) for _ in range(min(_SYNCED_AT_ONCE, len(descriptors) // _FEW) - 1)]
    with suppress(RuntimeError):  # there cannot be more threads
        for thread in threads:
            thread.start()
    work()
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    return failed


def read_json(path: Path, limit: int = MAX_DATA_BYTES) -> object:
    """Read the value in a JSON file. Raises FileNotFoundError and other OSError, and JsonError if it is not JSON."""
    from north_lsp.storage.relaxed_json import parse

    return parse(read_regular(path, limit))


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file. Raises OSError, also for a pipe or a device and for more than `limit` bytes."""
    # Without O_NONBLOCK a pipe that came with a repository would hang the reader.
    fd = systems.open_file(path, os.O_RDONLY | systems.CLOEXEC | systems.NONBLOCK)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit} bytes", str(path))
    return data


def json_bytes(value: object) -> bytes:
    """Encode a JSON file's content as North writes it. Lone surrogates become U+FFFD."""
    import json

    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def set_aside(path: Path) -> Path:
    """Rename a file that cannot be read to `<name>.bad-<time>` and return the new path. Raises OSError."""
    name = f"{path.name}.bad-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    target, count = path.with_name(name), 1
    while os.path.lexists(target):
        target, count = path.with_name(f"{name}-{count}"), count + 1
    os.rename(path, target)
    return target


@contextmanager
def short_lock(locations: Locations, name: str, timeout: float = _SHORT_LOCK_SECONDS) -> Iterator[None]:
    """Hold `<state>/locks/<name>.lock` around a read-modify-write. Raises LockTimeout, or OSError without locks."""
    if not name or "/" in name or "\0" in name:
        raise ValueError(f"not a name for a lock: {name!r}")
    lock = _wait_for(private_directory(locations.locks) / f"{name}.lock", name, timeout)
    try:
        yield
    finally:
        lock.release(remove=False)


def _wait_for(path: Path, name: str, timeout: float) -> FileLock:
    import random

    held, began = None, time.monotonic()
    while isinstance(lock := try_lock(path), LockHeld):
        held, waited = lock, time.monotonic() - began
        if waited >= timeout:
            warn("lock_wait", name=name, waitedMs=round(waited * 1000), owner=held.pid, ok=False)
            raise LockTimeout(errno.ETIMEDOUT, f"{name} is locked by {held}")
        time.sleep(random.uniform(0.002, 0.02))
    if held is not None:
        note("lock_wait", name=name, waitedMs=round((time.monotonic() - began) * 1000), owner=held.pid, ok=True)
    return lock
