"""Creating and removing folders as part of an application: created before anything else, removed after everything
else."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.apply.open_folders import enter, remove_empty
from north_lsp.workspace.proposal import FileChange

_SAFE_BITS = 0o777
_MOST_NAMES = 5


@dataclass(frozen=True, slots=True)
class FolderStep:
    """A folder to be created or removed; `mode` is for one that is created."""

    change: FileChange
    root: Path
    path: Path
    mode: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.path.relative_to(self.root).parts

    @property
    def shown(self) -> str:
        return self.change.relative if self.path == self.change.path else self.change.shown


def make_folder(step: FolderStep, always: ExitStack, undo: ExitStack) -> None:
    """Create a folder, and those above it; `undo` removes them again. Raises ToolError STALE and OSError."""
    above = enter(step.root, step.names[:-1], always, undo)
    try:
        systems.make_folder_in(above.descriptor, step.names[-1])
    except FileExistsError as error:
        raise _stale(step, "was created") from error
    undo.callback(remove_empty, step.root, step.names)


def copy_folder_metadata(step: FolderStep, always: ExitStack) -> None:
    """Give a folder its mode, after everything has been put into it."""
    if step.mode is not None:
        systems.change_mode(enter(step.root, step.names, always, None).descriptor, step.mode & _SAFE_BITS)


def check_removable(step: FolderStep, leaving: Collection[Path], always: ExitStack) -> None:
    """Check that a folder contains nothing but the paths that are `leaving`. Raises ToolError STALE and OSError."""
    try:
        folder = enter(step.root, step.names, always, None)
    except ToolError as error:
        raise _stale(step, "was deleted or replaced") from error
    above = enter(step.root, step.names[:-1], always, None)
    if not systems.is_changeable(above.descriptor):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    left = sorted(name for name in names_in(folder.descriptor) if step.path / name not in leaving)
    if left:
        raise _stale(step, f"is not empty ({some_of(left)}), or something was put into it")


def remove_folders(steps: Sequence[FolderStep]) -> tuple[str, ...]:
    """Remove folders, the inner ones first; returns those into which something was put at the very last moment."""
    stay: list[str] = []
    for step in sorted(steps, key=lambda step: -len(step.names)):
        if not remove_empty(step.root, step.names) and _is_folder(step.path):
            stay.append(step.shown)
    return tuple(stay)


def some_of(names: Sequence[str]) -> str:
    """Return the first of the names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def names_in(folder: int) -> list[str]:
    """Return what is in an open folder."""
    with systems.scan(folder) as entries:
        return [entry.name for entry in entries]


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _stale(step: FolderStep, happened: str) -> ToolError:
    return ToolError(
        "STALE",
        f"{step.shown} {happened} since the edit was prepared; nothing was written",
        "look at the folder again",
        {"path": str(step.path)},
    )
