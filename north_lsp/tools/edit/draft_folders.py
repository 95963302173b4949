"""Empty folders in a draft: which are deleted, which are created, and why one that is not empty stays."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.apply.empty_folders import some_of
from north_lsp.workspace.edit.diff import make_folder_change
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace


@dataclass
class DraftFolder:
    """A folder: whether it existed at first (`stood`) and exists now (`stands`), and which one was moved here."""

    resolved: Resolved
    stood: bool
    stands: bool
    mode: int | None = None
    moved_from: DraftFolder | None = None

    @property
    def path(self) -> Path:
        return self.resolved.path


def existing_folder(resolved: Resolved) -> DraftFolder | None:
    """Return the folder at a path; None if there is none."""
    try:
        mode = os.lstat(resolved.path).st_mode
    except OSError:
        return None
    return DraftFolder(resolved, True, True, stat.S_IMODE(mode)) if stat.S_ISDIR(mode) else None


def ensure_empty(
    folder: DraftFolder, what: str, gone: Collection[Path], there: Iterable[Path], workspace: Workspace
) -> None:
    """Check that a folder holds nothing but what is `gone`. `there` are paths that exist, or will. Raises ToolError:
    CONFLICT for the workspace's own folder and one with contents, IO_ERROR."""
    path = folder.path
    if path in workspace.roots.roots:
        raise ToolError(
            "CONFLICT", f"{folder.resolved.relative} is the workspace's own folder, so it is not {what}", "ask the user"
        )
    try:
        names = {name for name in os.listdir(path) if path / name not in gone} if folder.stood else set()
    except OSError as error:
        raise ToolError("IO_ERROR", f"{folder.resolved.relative} cannot be read: {error.strerror}") from error
    names |= {one.relative_to(path).parts[0] for one in there if path in one.parents}
    if names:
        told = sorted(name for name in names if workspace.trees.closed(path / name) is None)
        closed = [f"{len(names) - len(told)} that are closed to tools"] if len(told) < len(names) else []
        raise ToolError(
            "CONFLICT",
            f"{folder.resolved.relative} is a folder that is not empty, so it is not {what}; in it: "
            + ", ".join([*([some_of(told)] if told else []), *closed]),
            "only empty folders can be deleted or moved: delete or move the contents first; one edit_apply_batch can "
            "do it all, with the folder as its last item. New folders are created along with their files",
            {"entries": told[:20]},
        )


def folder_changes(folders: Mapping[Path, DraftFolder], files: Iterable[Path]) -> Sequence[FileChange]:
    """Return the net effect. `files` are the paths where the draft ends up with a file: their folders stay."""
    kept = {above for path in files for above in path.parents}
    kept |= {above for path, one in folders.items() if one.stands for above in path.parents}
    gone = {path: one for path, one in folders.items() if one.stood and not one.stands and path not in kept}
    found: list[FileChange] = []
    for path, one in folders.items():
        if one.stood or not one.stands:
            continue
        source = one.moved_from
        if source is not None and gone.pop(source.path, None) is not None:
            change = make_folder_change(source.path, source.resolved.relative, "rename")
            found.append(replace(change, new_path=path, new_relative=one.resolved.relative))
        else:
            found.append(make_folder_change(path, one.resolved.relative, "create", one.mode))
    return [*found, *(make_folder_change(path, one.resolved.relative, "delete") for path, one in gone.items())]
