"""Folders held open by descriptor, entered one by one from a root without following links, and created where
missing."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack, suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.opening import open_folder
from north_lsp.workspace.paths import kind_of

_FLAGS = os.O_RDONLY | systems.DIRECTORY | systems.NOFOLLOW | systems.CLOEXEC


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder below `root`. Whatever happens to its name, the descriptor still refers to this folder."""

    root: Path
    names: tuple[str, ...]
    descriptor: int

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.names)


def enter(root: Path, names: tuple[str, ...], always: ExitStack, undo: ExitStack | None) -> Folder:
    """Open the folder `names` below `root`.

    Missing folders are created if `undo` is given, which removes them again; `always` closes what was opened. Raises
    ToolError STALE if a link or a file is in the way or a folder is missing, and OSError.
    """
    descriptor = _open(str(root), None, root, always)
    for depth, name in enumerate(names):
        here = root.joinpath(*names[: depth + 1])
        if undo is not None:
            with suppress(FileExistsError):
                systems.make_folder_in(descriptor, name)
                undo.callback(_remove, name, descriptor)
        descriptor = _open(name, descriptor, here, always)
    return Folder(root, names, descriptor)


def check_in_place(folder: Folder) -> None:
    """Check that a folder still is where it was entered. Raises ToolError STALE if it was moved or replaced, and
    OSError."""
    with ExitStack() as always:
        again = enter(folder.root, folder.names, always, None)
        if not os.path.samestat(os.fstat(again.descriptor), os.fstat(folder.descriptor)):
            raise _stale(folder.path, "was replaced by another folder")


def ensure_own(path: Path) -> None:
    """Check that another program can write a file at this path without writing any other file: no link is on the way,
    and a file that is already there has no other names. Raises ToolError STALE."""
    try:
        with open_folder(path.parent) as folder:
            status = systems.status_in(folder, path.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _stale(path, "is in a folder that was replaced") from error
    if not stat.S_ISREG(status.st_mode):
        raise _stale(path, f"has become {kind_of(status.st_mode)}")
    if status.st_nlink > 1:
        raise _stale(path, "now has another name (a hard link)")


def _open(name: str, parent: int | None, shown: Path, always: ExitStack) -> int:
    try:
        descriptor = systems.open_file(name, _FLAGS, folder=parent)
    except OSError as error:
        match error.errno:
            case errno.ELOOP | errno.ENOTDIR:
                raise _stale(shown, "is not a folder but a link or a file") from error
            case errno.ENOENT:
                raise _stale(shown, "no longer exists") from error
            case _:
                raise
    always.callback(os.close, descriptor)
    return descriptor


def _remove(name: str, parent: int) -> None:
    with suppress(OSError):  # something else was put into it
        systems.remove_folder_in(parent, name)


def _stale(path: Path, happened: str) -> ToolError:
    return ToolError("STALE", f"{path} {happened}; nothing was written", "resolve and read the path again")


def remove_empty(root: Path, folders: tuple[str, ...]) -> bool:
    """Remove an empty folder below `root`, without following any link. Returns whether it was removed."""
    try:
        with ExitStack() as always:
            parent = enter(root, folders[:-1], always, None)
            systems.remove_folder_in(parent.descriptor, folders[-1])
    except (ToolError, OSError):
        return False
    return True
