"""Tells which folders have changed, as the kernel reports it (inotify): asking costs nothing while nothing changes.

A notice is available before the call that made the change returns, so asking later misses none. Where that would not
hold (network and foreign file systems, no inotify, too many folders), a folder is not watched, and must be checked.
"""

from __future__ import annotations

import errno
import os
import struct
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from north_lsp import systems

if TYPE_CHECKING:
    import ctypes

_CREATE = systems.NONBLOCK | systems.CLOEXEC
_MOVED, _CREATED, _DELETED, _MOVED_SELF = 0x0C0, 0x100, 0x200, 0x800
_OVERFLOW, _ONLY_FOLDERS = 0x4000, 0x01000000
_MASK = _MOVED | _CREATED | _DELETED | _MOVED_SELF | _ONLY_FOLDERS
_HEAD = struct.Struct("iIII")
_MOST_BYTES = 256 * 1024
_SHARE = 4  # editors watch folders, too, and the limit is per user
_MOST_WATCHED = 50_000
_LIMIT = "/proc/sys/fs/inotify/max_user_watches"
_MOUNTS = "/proc/self/mountinfo"
_LOCAL = frozenset(
    [
        *(0xEF53, 0x58465342, 0x9123683E, 0xCA451A4E),  # ext, xfs, btrfs, bcachefs
        *(0x01021994, 0x858458F6, 0xF2F52010, 0x2FC12FC1, 0x794C7630),  # tmpfs, ramfs, f2fs, zfs, overlay
    ]
)
"""The file systems that change only through this kernel."""


class Watch:
    """The changes reported for one tree; its owner calls it from one thread at a time. It ends when the owner that it
    was made for is gone."""

    def __init__(self, owner: object) -> None:
        self._source: _Source | None = None
        self._names: dict[int, set[str]] = {}
        self._watches: dict[str, int] = {}
        weakref.finalize(owner, _ENDED.append, self).atexit = False

    def __contains__(self, name: str) -> bool:
        return name in self._watches

    def add(self, name: str, descriptor: int, device: int) -> None:
        """Watch an open folder of a device under a name, if possible; must be called before its entries are read."""
        source = _source()
        if source is not self._source:
            self.forget_all()
            self._source = source
        watch = source.watch(descriptor, device, self) if source is not None else None
        if self._watches.get(name) != watch:
            self.remove(name)
        if watch is not None:
            self._watches[name] = watch
            self._names.setdefault(watch, set()).add(name)

    def remove(self, name: str) -> None:
        watch = self._watches.pop(name, None)
        if watch is None:
            return
        names = self._names[watch]
        names.discard(name)  # a folder that was moved, or is mounted twice, has two names for a while
        if not names:
            del self._names[watch]
            if self._source is not None and self._source is _source():
                self._source.release(watch, self)

    def forget_all(self) -> None:
        for name in list(self._watches):
            self.remove(name)

    def end(self) -> None:
        self.forget_all()
        if self._source is not None:
            self._source.forget(self)

    def changed(self) -> set[str] | None:
        """Return the names of the watched folders in which something was created, moved or deleted since the last call;
        None if that is unknown, so that everything must be checked again."""
        if self._source is None:
            return set()
        if self._source is not _source():  # in a forked process
            return None
        told = self._source.told_to(self)
        return None if told is None else {name for watch in told for name in self._names.get(watch, ())}


_ENDED = deque[Watch]()
"""Watches whose owners are gone. That may happen whenever memory is allocated, so they are released at the next
call."""


class _Source:
    """The only connection to the kernel; trees share it, because a user can have only few of them."""

    def __init__(self) -> None:
        import ctypes  # with the first tree: opening a session does without

        self._library = ctypes.CDLL(None, use_errno=True)
        self._library.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self._mounts = os.open(_MOUNTS, os.O_RDONLY | systems.CLOEXEC)
        self._poll = systems.poll_for_changes(self._mounts)
        self._poll.poll(0)
        with open(_LIMIT, "rb") as limit:
            self._most = min(int(limit.read()) // _SHARE, _MOST_WATCHED)
        self._descriptor = self._library.inotify_init1(_CREATE)
        if self._descriptor < 0:
            os.close(self._mounts)
            raise OSError(ctypes.get_errno(), "inotify")
        self._devices: dict[int, bool] = {}
        self._listeners: dict[int, set[Watch]] = {}
        self._told: dict[Watch, set[int] | None] = {}
        self._lock = threading.Lock()

    def watch(self, descriptor: int, device: int, listener: Watch) -> int | None:
        if _ENDED:
            _release_ended()
        with self._lock:
            if len(self._listeners) >= self._most or not self._tells_all(descriptor, device):
                return None
            place = f"/proc/self/fd/{descriptor}".encode()
            found = int(self._library.inotify_add_watch(self._descriptor, place, _MASK))
            if found < 0:
                return None
            self._listeners.setdefault(found, set()).add(listener)
            return found

    def release(self, watch: int, listener: Watch) -> None:
        with self._lock:
            listeners = self._listeners[watch]
            listeners.discard(listener)
            if not listeners:
                del self._listeners[watch]
                self._library.inotify_rm_watch(self._descriptor, watch)

    def forget(self, listener: Watch) -> None:
        with self._lock:
            self._told.pop(listener, None)

    def told_to(self, listener: Watch) -> set[int] | None:
        """Return the watches of the listener with changes since it last asked; None if that is unknown."""
        _release_ended()
        with self._lock:
            if self._poll.poll(0):  # something was mounted, which notices do not report
                self._devices.clear()
                self._lose()
            for watch, mask in self._notices():
                if mask & _OVERFLOW:
                    self._lose()
                for one in self._listeners.get(watch, ()):
                    told = self._told.setdefault(one, set())
                    if told is not None:
                        told.add(watch)
            return self._told.pop(listener, set())

    def _tells_all(self, descriptor: int, device: int) -> bool:
        known = self._devices.get(device)
        if known is None:
            known = self._devices[device] = _file_system(self._library, descriptor) in _LOCAL
        return known

    def _lose(self) -> None:
        for listeners in self._listeners.values():
            self._told.update(dict.fromkeys(listeners))

    def _notices(self) -> Iterator[tuple[int, int]]:
        while True:
            try:
                data = os.read(self._descriptor, _MOST_BYTES)
            except InterruptedError:
                continue
            except OSError as error:
                if error.errno != errno.EAGAIN:
                    self._lose()
                return
            at = 0
            while at < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, at)
                yield watch, mask
                at += _HEAD.size + length


def _release_ended() -> None:
    while _ENDED:
        with suppress(IndexError):  # another thread has taken it
            _ENDED.popleft().end()


def _file_system(library: ctypes.CDLL, descriptor: int) -> int:
    """Return the kind of file system of an open file, as the kernel numbers it; -1 if it cannot be determined."""
    import ctypes

    answer = (ctypes.c_long * 64)()
    return int(answer[0]) & 0xFFFFFFFF if library.fstatfs(descriptor, answer) == 0 else -1


def _source() -> _Source | None:
    return _source_of(os.getpid())


@cache
def _source_of(_process: int) -> _Source | None:
    """Return the source of this process: a forked process would take away its parent's notices."""
    if os.name == "nt":
        return None
    with suppress(OSError, AttributeError, ValueError):
        return _Source()
    return None
