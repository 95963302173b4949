"""Clearing away what nobody needs any more: what killed processes left, and what is older than it is worth.

Only what belongs to nobody alive is touched: a lock that can be taken, a temporary file or a shell's folder whose
process is gone, a conversation in which nothing was ever said, the trash. Best effort, in the time that is given.
"""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import LockHeld, try_lock
from north_lsp.storage.summaries import summarise

SHELL_FOLDER = "north-shell-"
EMPTY_DAYS = 7
TRASH_DAYS = 30
_DAY = 24 * 60 * 60.0
_HOUR = 60 * 60.0
_TEMPORARY = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}\.tmp")


def clear(locations: Locations, seconds: float = 2.0) -> list[str]:
    """Remove what is left over; gives the names of what was removed. Blocks for at most about so many seconds."""
    deadline = time.monotonic() + seconds
    removed: list[str] = []
    for path in _left_over(locations):
        if time.monotonic() > deadline:
            break
        if _remove(path):
            removed.append(path.name)
    return removed


def clear_project(root: Path) -> None:
    """Remove the temporary files of killed processes from a project's `.north`. Blocks."""
    for path in _files(root / ".north"):
        if _is_abandoned(path):
            _remove(path)


def _left_over(locations: Locations) -> Iterator[Path]:
    conversations = locations.conversations
    for folder in (locations.data, conversations, locations.blobs, *_folders(locations.data / "projects")):
        yield from (path for path in _files(folder) if _is_abandoned(path))
    for path in _files(conversations):
        if path.suffix == ".lock":
            _release(path)
        elif path.suffix == ".jsonl" and valid_conversation_id(path.stem) and _age(path) > EMPTY_DAYS * _DAY:
            yield from _empty(path)
    yield from (path for path in _folders(conversations / "trash") if _age(path) > TRASH_DAYS * _DAY)
    if not any((locations.data / "projects").glob("*/jobs/*")):  # a job that was kept may still use its shell's folder
        temporary = Path(tempfile.gettempdir())
        yield from (path for path in _folders(temporary) if path.name.startswith(SHELL_FOLDER) and _is_unused(path))


def _is_unused(folder: Path) -> bool:
    """A shell's folder of this user that no process holds."""
    try:
        if folder.lstat().st_uid != os.getuid() or _age(folder) < _HOUR:
            return False
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _is_abandoned(path: Path) -> bool:
    """A temporary file whose process is gone; of one with the same number, which began later, if it is an hour old."""
    named = _TEMPORARY.fullmatch(path.name)
    return named is not None and (not is_alive(int(named[1])) or _age(path) > _HOUR)


def is_alive(pid: int) -> bool:
    """Whether there is such a process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _release(path: Path) -> None:
    """Remove a lock that nobody holds; whoever takes it at this moment finds that the file is another, and goes on."""
    with suppress(OSError):
        lock = try_lock(path)
        if not isinstance(lock, LockHeld):
            lock.release(remove=True)


def _empty(path: Path) -> Iterator[Path]:
    """A conversation in which nothing was said, while nobody can begin to."""
    lock_path = path.with_suffix(".lock")
    with suppress(OSError):
        lock = try_lock(lock_path)
        if isinstance(lock, LockHeld):
            return
        try:
            if summarise(path).summary.is_empty:
                yield path
        finally:
            lock.release(remove=True)


def _remove(path: Path) -> bool:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True


def _age(path: Path) -> float:
    """In seconds; nothing for what is gone or has a time to come."""
    try:
        return max(0.0, time.time() - path.lstat().st_mtime)
    except OSError:
        return 0.0


def _files(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False)]
    return []


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    return []
