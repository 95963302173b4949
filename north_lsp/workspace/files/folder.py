"""One folder of a root, as it was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.ignore import ALWAYS_SKIPPED, IGNORE_FILES, IgnoreChains
from north_lsp.workspace.files.stamps import Signature, state_in

_GIT = ".git"
_NONE = frozenset[str]()
_MARKS = IGNORE_FILES | {_GIT}


@dataclass(slots=True)
class Folder:
    """One folder as it was read: sub-folders and files by name, in order. `links` are all links in it; `shut_folders`
    and `shut_files` are closed by the user. A `shut` folder is one of those, of which nothing is shown: it is read for
    the links in it, and for the files that may have other names elsewhere. `hidden` are the sub-folders that are not
    shown, for whatever reason."""

    path: str
    chains: IgnoreChains
    changed: Signature | None
    folders: Sequence[str] = ()
    files: Sequence[str] = ()
    others: Sequence[str] = ()
    ignore_files: frozenset[str] = _NONE
    whole: bool = False
    links: tuple[str, ...] = ()
    shut_folders: tuple[str, ...] = ()
    shut_files: tuple[str, ...] = ()
    shut: bool = False
    hidden: tuple[str, ...] = ()
    has_git: bool = False
    unseen: tuple[str, ...] = ()

    @property
    def below(self) -> Sequence[str]:
        return (*self.folders, *self.shut_folders) if self.shut_folders else self.folders


class Names(NamedTuple):
    """What is in a folder: all names, which of them are folders, which are neither folder nor file, which are links,
    which are ignore files, and the state of the folder before it was read."""

    names: list[str]
    folders: Collection[str]
    others: Collection[str]
    links: tuple[str, ...]
    ignore_files: frozenset[str]
    has_git: bool
    changed: Signature | None


def read_folder(descriptor: int, opened: Callable[[int, int], None] | None = None) -> Names | None:
    """Read an open folder; None if that is impossible. `opened` gets it, and its device, before it is read, so that
    later changes are noticed."""
    try:
        status = os.fstat(descriptor)
        if opened is not None:
            opened(descriptor, status.st_dev)  # nothing of it has been read yet
        changed = state_in(status)
        with systems.scan(descriptor) as listing:
            entries = list(listing)
        special = [entry for entry in entries if not entry.is_file(follow_symlinks=False)]
        folders = [entry.name for entry in special if entry.is_dir(follow_symlinks=False)] if special else ()
    except OSError:
        return None
    names = [entry.name for entry in entries]
    marks = _NONE if _MARKS.isdisjoint(names) else _MARKS.intersection(names)
    ignore_files, has_git = marks & IGNORE_FILES if marks else _NONE, _GIT in marks
    if len(special) == len(folders):
        return Names(names, frozenset(folders), _NONE, (), ignore_files, has_git, changed)
    others = frozenset([entry.name for entry in special]) - set(folders)
    links = tuple(sorted(entry.name for entry in special if entry.is_symlink()))
    return Names(names, frozenset(folders), others, links, ignore_files, has_git, changed)


def folder_of(
    path: str, chains: IgnoreChains, found: Names | None, ignore_files: frozenset[str], *, shut: bool = False
) -> Folder:
    """Make what is kept of a folder: what the rules around it and in it leave of its names."""
    if found is None:
        return Folder(path, chains, None, shut=shut)
    if shut:
        inner = tuple(sorted(name for name in found.folders if _is_looked_through(name)))
        files = tuple(sorted({*found.names} - {*found.folders} - {*found.others}))
        unseen = tuple(sorted({*found.folders}.difference(inner)))
        return Folder(
            path, chains, found.changed, (), (), (), _NONE, True, found.links, inner, files, True, unseen=unseen
        )
    closed = chains.closed_of(path, found.names, found.folders) if chains.exact.files else ()
    shown = chains.shown(path, found.names, found.folders, closed)
    whole, has_git = len(shown) == len(found.names), found.has_git
    if not found.folders and not found.others and not closed:  # most have only files
        return Folder(path, chains, found.changed, (), shown, (), ignore_files, whole, has_git=has_git)
    folders = [name for name in shown if name in found.folders]
    others = [name for name in shown if name in found.others] if found.others else ()
    files_shown = [name for name in shown if name not in found.folders and name not in found.others]
    if whole and not found.links and not closed:
        return Folder(path, chains, found.changed, folders, files_shown, others, ignore_files, whole, has_git=has_git)
    shut_folders = tuple(sorted(name for name in closed if name in found.folders and _is_looked_through(name)))
    shut_files = tuple(sorted(name for name in closed if name not in found.folders and name not in found.others))
    return Folder(
        path,
        chains,
        found.changed,
        folders,
        files_shown,
        others,
        ignore_files,
        whole,
        found.links,
        shut_folders,
        shut_files,
        hidden=() if len(folders) == len(found.folders) else tuple(sorted({*found.folders}.difference(folders))),
        has_git=has_git,
        unseen=tuple(sorted(name for name in closed if name in found.folders and name not in shut_folders)),
    )


def _is_looked_through(name: str) -> bool:
    """Return whether a closed folder is read for its links: third-party folders, such as packages, are large, and their
    links lead into the project's own sources."""
    return name not in ALWAYS_SKIPPED
