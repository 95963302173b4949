"""Files and folders on Windows as North's other systems have them: opened without following links, by name in an open
folder, so that whatever happens to the names above it makes no difference.

Windows' own calls are behind `Native`, so that what is made of them is the same wherever it is tested.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from north_lsp.systems.windows import rules

DIRECTORY, NOFOLLOW = 0x01000000, 0x02000000  # no flags of Windows' own `open`, which is never given them

_READ, _WRITE, _WRITE_DATA = 0x120089, 0x120116, 0x2
_SYNCHRONIZE, _READ_ATTRIBUTES, _WRITE_ATTRIBUTES, _DELETE = 0x100000, 0x80, 0x100, 0x10000
_SHARE_ALL, _SHARE_CONTENTS = 7, 3
_OPEN, _CREATE, _OPEN_IF = 1, 2, 3
_SYNCHRONOUS, _FOR_BACKUP, _REPARSE_POINT = 0x20, 0x4000, 0x200000
_ONLY_FOLDER, _ONLY_FILE = 0x1, 0x40
_IS_FOLDER, _IS_REPARSE_POINT, _IS_READ_ONLY = 0x10, 0x400, 0x1
_NAME_SURROGATE = 0x20000000
_KINDS = {267: errno.ENOTDIR, 336: errno.EISDIR}
_IN_USE = frozenset({32, 303})  # open elsewhere, about to be deleted
_BUSY = _IN_USE | {5}  # also said of what is in use
_RETRY_SECONDS = (0.001, 0.005, 0.02, 0.05, 0.1, 0.2)


class Found(Protocol):
    """A name in a folder, see `native.Found`."""

    @property
    def name(self) -> str: ...
    @property
    def attributes(self) -> int: ...
    @property
    def tag(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def changed(self) -> int: ...
    @property
    def modified(self) -> int: ...


class Native(Protocol):
    """What `native.py` has for files, and what turns a handle into a descriptor and back."""

    def create(self, name: str, root: int | None, access: int, share: int, disposition: int, options: int) -> int: ...
    def close(self, handle: int) -> None: ...
    def final_path(self, handle: int) -> str: ...
    def attributes_and_tag(self, handle: int) -> tuple[int, int]: ...
    def identity(self, handle: int) -> tuple[int, int]: ...
    def entries(self, handle: int) -> Iterator[Found]: ...
    def rename(self, handle: int, root: int, name: str, *, replaces: bool) -> None: ...
    def link(self, handle: int, root: int, name: str) -> None: ...
    def delete(self, handle: int) -> None: ...
    def descriptor_of(self, handle: int, flags: int) -> int: ...
    def handle_of(self, descriptor: int) -> int: ...


class Entry:
    """A name in a folder, as `os.DirEntry` has it; a junction is a link like any other."""

    __slots__ = ("_device", "_found", "_path", "name")

    def __init__(self, found: Found, path: str, device: int) -> None:
        self.name = found.name
        self._found = found
        self._path = path
        self._device = device

    @property
    def path(self) -> str:
        return f"{self._path}\\{self.name}"

    def is_symlink(self) -> bool:
        return bool(self._found.tag & _NAME_SURROGATE)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        if self.is_symlink():
            return follow_symlinks and os.path.isdir(self.path)
        return bool(self._found.attributes & _IS_FOLDER)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        if self.is_symlink():
            return follow_symlinks and os.path.isfile(self.path)
        return not self._found.attributes & _IS_FOLDER

    def inode(self) -> int:
        return self._found.number

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        if self.is_symlink() and follow_symlinks:
            return os.stat(self.path)
        kind = _mode(self._found.attributes, self._found.tag)
        found, seconds = self._found, self._found.modified // 10**9
        row = (kind, found.number, self._device, 1, 0, 0, found.size, seconds, seconds, found.changed // 10**9)
        exact = {"st_mtime_ns": found.modified, "st_ctime_ns": found.changed, "st_atime_ns": found.modified}
        return os.stat_result(row, exact)


class Files:
    """The calls for files, on top of Windows' own."""

    def __init__(self, native: Native, sleep: Callable[[float], None] = time.sleep) -> None:
        self._native = native
        self._sleep = sleep

    # -- opening -------------------------------------------------------------------------------------------------

    def open_file(
        self, path: str | os.PathLike[str], flags: int, mode: int = 0o777, *, folder: int | None = None
    ) -> int:
        """Open as `os.open` does, with all of North's flags, in a way that lets others rename and delete what is open;
        with `folder` by a name in that open folder. Raises OSError: ELOOP for a link with NOFOLLOW."""
        del mode  # who may do what with a file, it has from its folder
        name = os.fspath(path)
        if folder is not None:
            return self._opened(_checked(name), self._native.handle_of(folder), flags)
        return self._opened(rules.native(os.path.abspath(name)), None, flags)

    def open_real(self, path: str, flags: int) -> int:
        """Open what is at a real, absolute path: what is opened is at exactly that path, or it is closed again. Raises
        OSError: ELOOP if a part of the path is a link."""
        descriptor = self.open_file(path, flags | NOFOLLOW)
        try:
            there = self.path_of(descriptor)
            if rules.folded(there.rstrip("\\")) != rules.folded(os.path.normpath(path).rstrip("\\")):
                raise _linked(path)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def path_of(self, descriptor: int) -> str:
        """Return where what is open is at this moment. Raises OSError."""
        return rules.without_prefix(self._native.final_path(self._native.handle_of(descriptor)))

    @contextmanager
    def held(self, descriptor: int) -> Iterator[str]:
        """Keep an open file from being moved or replaced; yields its path. Raises OSError."""
        handle = self._native.handle_of(descriptor)
        path = self._native.final_path(handle)
        again = self._create(rules.native(path), None, _READ, _OPEN, _REPARSE_POINT, share=_SHARE_CONTENTS)
        try:
            if self._native.final_path(again) != path or not self._same(handle, again):
                raise _linked(path)
            yield rules.without_prefix(path)
        finally:
            self._native.close(again)

    def true_path(self, path: str) -> str:
        """Return a path without links and short names, as the file system spells it; what is not there is named below
        the folder around it."""
        plain = os.path.abspath(rules.without_prefix(path))
        try:
            handle = self._create(rules.native(plain), None, _READ_ATTRIBUTES, _OPEN, 0)
        except OSError:
            folder, name = os.path.split(plain)
            return os.path.join(self.true_path(folder), name) if folder != plain and name else plain
        try:
            return rules.without_prefix(self._native.final_path(handle))
        finally:
            self._native.close(handle)

    # -- names in an open folder ---------------------------------------------------------------------------------

    def status_in(self, folder: int, name: str) -> os.stat_result:
        """Return the status of what has this name in an open folder, of a link itself. Raises OSError."""
        handle = self._at(folder, name, _READ_ATTRIBUTES)
        try:
            attributes, tag = self._native.attributes_and_tag(handle)
            descriptor = self._native.descriptor_of(handle, os.O_RDONLY)
        except BaseException:
            self._native.close(handle)
            raise
        try:
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        return os.stat_result((_mode(attributes, tag), *status[1:10])) if tag & _NAME_SURROGATE else status

    def make_folder_in(self, folder: int, name: str) -> None:
        """Create a folder in an open one. Raises OSError."""
        root = self._native.handle_of(folder)
        self._native.close(self._create(_checked(name), root, _READ_ATTRIBUTES, _CREATE, _ONLY_FOLDER))

    def remove_folder_in(self, folder: int, name: str) -> None:
        """Remove an empty folder, not a link to one, from an open folder. Raises OSError."""
        self._removed(folder, name, _ONLY_FOLDER)

    def unlink_in(self, folder: int, name: str) -> None:
        """Remove a file, or a link itself, from an open folder. Raises OSError."""
        self._removed(folder, name, 0)

    def rename_in(self, folder: int, old: str, new: str) -> None:
        """Rename within an open folder; a file of that name is replaced. Raises OSError."""
        self._named(folder, old, lambda handle, root: self._native.rename(handle, root, _checked(new), replaces=True))

    def link_in(self, folder: int, old: str, new: str) -> None:
        """Give a file a second name in the same open folder. Raises OSError."""
        self._named(folder, old, lambda handle, root: self._native.link(handle, root, _checked(new)))

    def is_changeable(self, folder: int) -> bool:
        """Return whether names in an open folder may be changed, as far as that can be known beforehand."""
        del folder
        return True

    @contextmanager
    def scan(self, folder: int) -> Iterator[Iterable[Entry]]:
        """List what is in an open folder."""
        path, device = self.path_of(folder), os.fstat(folder).st_dev
        found = self._native.entries(self._native.handle_of(folder))
        yield (Entry(one, path, device) for one in found if one.name not in (".", ".."))

    def list_folder(self, path: str | os.PathLike[str]) -> list[str]:
        """Return what is in a folder. Raises OSError: NotADirectoryError for what is none."""
        descriptor = self.open_file(path, os.O_RDONLY | DIRECTORY)
        try:
            with self.scan(descriptor) as entries:
                return [entry.name for entry in entries]
        finally:
            os.close(descriptor)

    def replace(self, old: str | os.PathLike[str], new: str | os.PathLike[str]) -> None:
        """Rename, replacing a file of that name even while another program reads it. Raises OSError."""
        self._patiently(lambda: os.replace(old, new))

    # -- inside --------------------------------------------------------------------------------------------------

    def _opened(self, name: str, root: int | None, flags: int) -> int:
        access, disposition, options = _meaning(flags)
        handle = self._create(name, root, access, disposition, options)
        try:
            attributes, tag = self._native.attributes_and_tag(handle)
            if tag & _NAME_SURROGATE and flags & NOFOLLOW:
                raise _linked(name)
            if attributes & _IS_REPARSE_POINT and flags & NOFOLLOW:
                handle = self._through(handle, name, root, access, options)
            descriptor = self._native.descriptor_of(handle, flags)
        except BaseException:
            self._native.close(handle)
            raise
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
        return descriptor

    def _through(self, handle: int, name: str, root: int | None, access: int, options: int) -> int:
        """Open a file that is kept elsewhere (in a cloud, compressed) by whatever keeps it: its reparse point is no
        link. Raises OSError: ELOOP if it was replaced meanwhile."""
        again = self._create(name, root, access, _OPEN, options & ~_REPARSE_POINT)
        if not self._same(handle, again):
            self._native.close(again)
            raise _linked(name)
        self._native.close(handle)
        return again

    def _same(self, one: int, other: int) -> bool:
        return self._native.identity(one) == self._native.identity(other)

    def _create(
        self, name: str, root: int | None, access: int, disposition: int, options: int, *, share: int = _SHARE_ALL
    ) -> int:
        """Make Windows' own call, again for a moment where somebody else is at work there. Raises OSError."""
        made: list[int] = []
        options |= _SYNCHRONOUS | _FOR_BACKUP

        def call() -> None:
            made.append(self._native.create(name, root, access | _SYNCHRONIZE, share, disposition, options))

        try:
            self._patiently(call, _IN_USE)
        except OSError as error:
            if (meant := _KINDS.get(_code(error))) is not None:
                raise OSError(meant, os.strerror(meant), name) from error
            raise
        return made[0]

    def _at(self, folder: int, name: str, access: int) -> int:
        return self._create(_checked(name), self._native.handle_of(folder), access, _OPEN, _REPARSE_POINT)

    def _removed(self, folder: int, name: str, kind: int) -> None:
        handle = self._at(folder, name, _DELETE | _READ_ATTRIBUTES)
        try:
            attributes, tag = self._native.attributes_and_tag(handle)
            if bool(kind) != bool(attributes & _IS_FOLDER and not tag & _NAME_SURROGATE):
                code = errno.ENOTDIR if kind else errno.EISDIR
                raise OSError(code, os.strerror(code), name)
            self._patiently(lambda: self._native.delete(handle))
        finally:
            self._native.close(handle)

    def _named(self, folder: int, old: str, call: Callable[[int, int], None]) -> None:
        root = self._native.handle_of(folder)
        handle = self._at(folder, old, _DELETE | _READ_ATTRIBUTES | _WRITE_ATTRIBUTES)
        try:
            self._patiently(lambda: call(handle, root))
        finally:
            self._native.close(handle)

    def _patiently(self, call: Callable[[], None], busy: frozenset[int] = _BUSY) -> None:
        """Call again, for less than half a second, while another program (a virus scanner …) is in the way."""
        for seconds in _RETRY_SECONDS:
            try:
                call()
            except OSError as error:
                if _code(error) not in busy:
                    raise
                self._sleep(seconds)
            else:
                return
        call()


def _meaning(flags: int) -> tuple[int, int, int]:
    """Return the access, the disposition and the options that stand for North's flags."""
    writes, reads = flags & (os.O_WRONLY | os.O_RDWR), not flags & os.O_WRONLY
    access = (_READ if reads else _READ_ATTRIBUTES) | (_WRITE if writes else 0)
    if flags & os.O_APPEND and not flags & os.O_TRUNC:
        access &= ~_WRITE_DATA  # what is left lets only add at the end
    if flags & os.O_CREAT and flags & os.O_EXCL:
        disposition = _CREATE
    elif flags & os.O_CREAT:
        disposition = _OPEN_IF
    else:
        disposition = _OPEN
    kind = _ONLY_FOLDER if flags & DIRECTORY else _ONLY_FILE if writes else 0
    return access, disposition, kind | (_REPARSE_POINT if flags & NOFOLLOW else 0)


def _mode(attributes: int, tag: int) -> int:
    if tag & _NAME_SURROGATE:
        return stat.S_IFLNK | 0o777
    kind = stat.S_IFDIR | 0o777 if attributes & _IS_FOLDER else stat.S_IFREG | 0o666
    return kind & ~0o222 if attributes & _IS_READ_ONLY and not attributes & _IS_FOLDER else kind


def _checked(name: str) -> str:
    """Return a name for the kernel, which takes any: a path, or what Windows would read as something else, is none."""
    if name in ("", ".", "..") or "/" in name or "\\" in name or rules.refused_name(name) is not None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), name)
    return name


def _code(error: OSError) -> int:
    return getattr(error, "winerror", None) or 0


def _linked(name: str) -> OSError:
    return OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
