"""Removes what is no longer needed: what killed processes left behind, and what is too old to keep.

Nothing that belongs to a running process is touched, only: a lock that can be taken, a temporary file or a shell's
folder whose process is gone, a conversation in which nothing was ever said, the trash. Best effort, in limited time.
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
from north_lsp.storage.summaries import summarize

SHELL_FOLDER = "north-shell-"
EMPTY_DAYS = 7
TRASH_DAYS = 30
_DAY = 24 * 60 * 60.0
_HOUR = 60 * 60.0
_TEMPORARY = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}\.tmp")


def clear(locations: Locations, seconds: float = 2.0) -> list[str]:
    """Remove what is left over; return the names of what was removed. Blocks for at most about that many seconds."""
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
    if not any((locations.data / "projects").glob("*/jobs/*")):  # a detached job may still use its shell's folder
        temporary = Path(tempfile.gettempdir())
        yield from (path for path in _folders(temporary) if path.name.startswith(SHELL_FOLDER) and _is_unused(path))


def _is_unused(folder: Path) -> bool:
    """Tell whether this is a shell's folder of this user that no process holds."""
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
    """Tell whether this is a temporary file whose process is gone. A later process may have got the same number: then
    the file counts as abandoned after an hour."""
    named = _TEMPORARY.fullmatch(path.name)
    return named is not None and (not is_alive(int(named[1])) or _age(path) > _HOUR)


def is_alive(pid: int) -> bool:
    """Tell whether there is a process with this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _release(path: Path) -> None:
    """Remove a lock that nobody holds; a process that takes it meanwhile sees that its file is gone, and retries."""
    with suppress(OSError):
        lock = try_lock(path)
        if not isinstance(lock, LockHeld):
            lock.release(remove=True)


def _empty(path: Path) -> Iterator[Path]:
    """Yield the log if nothing was said in its conversation; it is locked meanwhile, so that nobody can begin."""
    lock_path = path.with_suffix(".lock")
    with suppress(OSError):
        lock = try_lock(lock_path)
        if isinstance(lock, LockHeld):
            return
        try:
            if summarize(path).summary.is_empty:
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
    """Return the age in seconds; 0 for what is gone or has a time in the future."""
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
