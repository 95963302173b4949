"""Opens what is at a real path: by descriptor, and without following a link in any part of the path.

`Roots.resolve` says where a raw path leads, with every link resolved; what may be seen is decided by that path. What is
opened here is at exactly that path: if a folder on the way has since become a link, opening fails (ELOOP). So the
decision holds for what is read, and reading continues from the descriptor, whatever happens to the names.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Self

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.workspace.paths import ensure_regular, kind_of

READ = os.O_RDONLY | systems.NOFOLLOW | systems.NONBLOCK | systems.CLOEXEC
"""Flags for reading that never block, not even on a pipe without a writer."""
FOLDER = os.O_RDONLY | systems.DIRECTORY | systems.NOFOLLOW | systems.CLOEXEC

_OPENAT2 = 437  # on every architecture
_AT_FDCWD = -100
_RESOLVE_NO_SYMLINKS = 0x04  # magic links of /proc included
_MOST_HELD = 64

_Opener = Callable[[str, int], int]


def open_real(path: Path | str, flags: int = READ) -> int:
    """Open a real, absolute path; nothing is created. Returns a descriptor.

    Raises OSError: ELOOP (or ENOTDIR) if any part of the path is a link.
    """
    return _opener()(os.fspath(path), flags)


def open_regular(path: Path) -> tuple[int, os.stat_result]:
    """Open a regular file at a real path. Returns a descriptor and its status.

    Raises ToolError: NOT_FOUND, INVALID_INPUT (folder, link, device, pipe …), IO_ERROR.
    """
    ensure_regular(path)  # opening a device may already have an effect
    try:
        descriptor = open_real(path)
    except OSError as error:
        raise cannot_open(path, error) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ToolError("INVALID_INPUT", f"{path} is {kind_of(status.st_mode)}, not a file")
    return descriptor, status


@contextmanager
def open_folder(path: Path | str) -> Iterator[int]:
    """Open the folder at a real path for the duration of the context: `systems.scan` takes its descriptor. Raises
    OSError."""
    descriptor = open_real(path, FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class OpenFolders:
    """The folders on the way to the one that a walk reads, held open: each is opened from the one around it, which
    follows no link either and takes a third of the time. Of a very long way only the beginning is held."""

    def __init__(self) -> None:
        self._held: list[int | None] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._held:
            self.leave()

    def enter(self, path: str, name: str = "") -> int | None:
        """Open the folder at a real path, called `name` in the one that was entered last. Returns its descriptor, None
        if it cannot be opened; `leave` it in either case."""
        around = self._held[-1] if self._held else None
        descriptor: int | None
        try:
            descriptor = open_real(path, FOLDER) if around is None else systems.open_file(name, FOLDER, folder=around)
        except OSError:
            descriptor = None
        self._held.append(descriptor)
        return descriptor

    def stay(self) -> None:
        """Walk on in the folder that was entered last."""
        if len(self._held) > _MOST_HELD and self._held[-1] is not None:
            os.close(self._held[-1])
            self._held[-1] = None

    def leave(self) -> None:
        descriptor = self._held.pop()
        if descriptor is not None:
            os.close(descriptor)


def cannot_open(path: Path, error: OSError) -> ToolError:
    """Return the ToolError that says in words why a file could not be opened."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return ToolError("NOT_FOUND", f"{path} does not exist")
        case errno.ELOOP:
            return ToolError("INVALID_INPUT", f"{path} has become a link, or a folder above it has")
        case errno.ENXIO:
            return ToolError("INVALID_INPUT", f"{path} is not a file")
        case _:
            return ToolError("IO_ERROR", f"{path} cannot be opened: {error.strerror}")


@cache
def _opener() -> _Opener:
    """Return the opener for this system: a single system call (openat2) where the kernel has it, else one step per
    folder."""
    if sys.platform == "win32":
        return systems.open_real
    try:
        os.close(_at_once("/", FOLDER))
    except (OSError, AttributeError):
        return open_in_steps
    return _at_once


@cache
def _syscall() -> Callable[[bytes, int], int]:
    """Return what makes the system call, which needs ctypes: opening a session does without."""
    import ctypes

    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long

    def openat2(path: bytes, flags: int) -> int:
        how = How(flags, 0, _RESOLVE_NO_SYMLINKS)
        descriptor: int = function(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(_AT_FDCWD),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        return descriptor if descriptor >= 0 else -ctypes.get_errno()

    return openat2


def _at_once(path: str, flags: int) -> int:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    while (descriptor := _syscall()(encoded, flags)) < 0:
        if -descriptor != errno.EINTR:
            raise OSError(-descriptor, os.strerror(-descriptor), path)
    return descriptor


def open_in_steps(path: str, flags: int) -> int:
    """Open a real path where the system has no `openat2`: folder by folder, none of which may be a link."""
    step = getattr(os, "O_PATH", os.O_RDONLY) | systems.DIRECTORY | systems.NOFOLLOW | systems.CLOEXEC
    *folders, name = [part for part in path.split("/") if part] or ["."]
    at = systems.open_file("/", step)
    try:
        for folder in folders:
            below = systems.open_file(folder, step, folder=at)
            os.close(at)
            at = below
        return systems.open_file(name, flags | systems.NOFOLLOW, folder=at)
    finally:
        os.close(at)


def mode_of(path: Path) -> int | None:
    """Return the permission bits of what is at the path; None if nothing is there."""
    with suppress(OSError):
        return stat.S_IMODE(os.lstat(path).st_mode)
    return None
