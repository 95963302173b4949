"""Windows' calls for files, on top of those of the system that runs the tests: nothing follows a link that is asked not
to, and a test says which errors come before a call succeeds."""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from north_lsp.systems.windows import rules

_OPEN_IF, _CREATE = 3, 2
_FOLDER, _REPARSE_POINT = 0x1, 0x200000
_LINK_TAG = 0xA000000C


class WindowsError(OSError):
    """An error with Windows' number, which only Windows' Python keeps."""

    def __init__(self, code: int, *args: object) -> None:
        super().__init__(*args)
        self.winerror = code


class Found(NamedTuple):
    name: str
    attributes: int
    tag: int
    size: int
    number: int
    changed: int
    modified: int


class Native:
    """`busy` are Windows' numbers of the errors that come first, `refuse` of those that come where a name is changed,
    `tags` those of names that are kept elsewhere; `calls` are the kinds of calls that were made."""

    def __init__(self) -> None:
        self.busy: list[int] = []
        self.refuse: list[int] = []
        self.tags: dict[str, int] = {}
        self.calls: list[str] = []
        self.places: dict[int, str] = {}
        self.before_create: Callable[[str], None] = lambda name: None

    def create(self, name: str, root: int | None, access: int, share: int, disposition: int, options: int) -> int:
        self.before_create(name)
        self._wait("create")
        path = rules.without_prefix(name) if root is None else f"{self.places[root]}/{name}"
        path = path.replace("\\", "/")
        if options & _FOLDER and disposition == _CREATE:
            os.mkdir(path)
        flags = {_CREATE: os.O_CREAT | os.O_EXCL, _OPEN_IF: os.O_CREAT}.get(disposition, 0)
        writes = access & 0x2 or access & 0x4
        flags |= os.O_RDWR if writes and not options & _FOLDER else os.O_RDONLY
        if options & _FOLDER:
            flags = os.O_RDONLY
        is_link = os.path.islink(path)
        if is_link and options & _REPARSE_POINT:
            handle = os.open(path, os.O_PATH | os.O_NOFOLLOW)
        else:
            handle = os.open(path, flags, 0o666)
        is_folder = os.path.isdir(path) and not (is_link and options & _REPARSE_POINT)
        if bool(options & _FOLDER) != is_folder and options & (_FOLDER | 0x40):
            os.close(handle)
            raise WindowsError(267 if options & _FOLDER else 336, 22, "kind", name)
        self.places[handle] = path if is_link and options & _REPARSE_POINT else os.path.realpath(path)
        return handle

    def close(self, handle: int) -> None:
        os.close(handle)

    def final_path(self, handle: int) -> str:
        return "\\\\?\\" + self.places[handle]

    def identity(self, handle: int) -> tuple[int, int]:
        status = os.fstat(handle)
        return status.st_dev, status.st_ino

    def attributes_and_tag(self, handle: int) -> tuple[int, int]:
        path = self.places[handle]
        tag = _LINK_TAG if os.path.islink(path) else self.tags.get(os.path.basename(path), 0)
        return (0x10 if os.path.isdir(path) and not os.path.islink(path) else 0x20) | (0x400 if tag else 0), tag

    def entries(self, handle: int) -> Iterator[Found]:
        yield Found(".", 0x10, 0, 0, 1, 0, 0)
        with os.scandir(self.places[handle]) as listed:
            for one in listed:
                status = one.stat(follow_symlinks=False)
                tag = _LINK_TAG if one.is_symlink() else self.tags.get(one.name, 0)
                attributes = 0x10 if one.is_dir(follow_symlinks=False) else 0x20
                row = (status.st_size, status.st_ino, status.st_ctime_ns, status.st_mtime_ns)
                yield Found(one.name, attributes | (0x400 if tag else 0), tag, *row)

    def rename(self, handle: int, root: int, name: str, *, replaces: bool) -> None:
        self._wait("rename")
        os.replace(self.places[handle], f"{self.places[root]}/{name}")
        self.places[handle] = f"{self.places[root]}/{name}"

    def link(self, handle: int, root: int, name: str) -> None:
        self._wait("link")
        os.link(self.places[handle], f"{self.places[root]}/{name}")

    def delete(self, handle: int) -> None:
        self._wait("delete")
        path = self.places[handle]
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)

    def descriptor_of(self, handle: int, flags: int) -> int:
        del flags
        return handle

    def handle_of(self, descriptor: int) -> int:
        return descriptor

    def _wait(self, kind: str) -> None:
        self.calls.append(kind)
        waiting = self.busy or (self.refuse if kind != "create" else [])
        if waiting:
            raise WindowsError(waiting.pop(0), 13, "busy")
