"""Determines what of the workspace a command in the sandbox must not change or see, and keeps it up to date.

The whole tree is walked once; later only folders that have changed are read again (a folder's change time cannot be set
by a command). What cannot be read counts as protected.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import NamedTuple

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.ignore import OWN_IGNORE_FILE, IgnoreChains, IgnoreRules, join

MAX_FOLDERS = 50_000
MAX_HELD = 2000
_TICK_NS = 50_000_000
_LONG_TICK_NS = 2_000_000_000
_DEPENDENCIES = "node_modules"
_ENVIRONMENT = "pyvenv.cfg"
_CACHES = (".cache", ".vite", ".vite-temp", ".vitest")

Ident = tuple[int, int]
Signature = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Held:
    """Real paths, each with the device and inode of what is there; nested ones are reduced to the topmost. `protected`
    names stay as they are, links included; `frozen` has these without links, further names of the same files, where
    such links lead, bare repositories (of which only `HEAD` counts as a protected name), and folders with installed
    packages, except for the caches in them (`open`); `hidden` is closed. `problem` says why all this cannot be relied
    on. `folders` are those that could be read, `unreadable` the others."""

    protected: Mapping[str, Ident]
    frozen: Mapping[str, Ident]
    hidden: Mapping[str, Ident]
    open: tuple[str, ...] = ()
    problem: str = ""
    unreadable: frozenset[str] = frozenset()
    folders: Collection[str] = ()


@dataclass(slots=True)
class _Folder:
    """A folder as it was read. `folders` are the sub-folders to walk as well, each with whether everything in it is
    already held, so that only closed names count; `files` has the identities of the files that are not held, `linked`
    those with more than one name."""

    chains: IgnoreChains
    changed: Signature | None
    folders: dict[str, bool]
    inside: bool = False
    protected: dict[str, Ident] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    hidden: dict[str, Ident] = field(default_factory=dict)
    packages: dict[str, Ident] = field(default_factory=dict)
    files: Sequence[Ident] = ()
    linked: dict[str, tuple[Ident, int]] = field(default_factory=dict)
    has_list: bool = False
    unreadable: bool = False


class Watched:
    """The names that are held below some roots. `protected` says whether a path relative to its root is one of them;
    `closed` returns real paths that are closed by names other than their own, `named` those that something else names
    as what is run; `private` folders are hidden. Threads can share one."""

    def __init__(
        self,
        rules: Mapping[Path, IgnoreRules],
        protected: Callable[[str], bool],
        closed: Callable[[], Collection[str]] = tuple,
        private: Sequence[Path] = (),
        named: Callable[[], Collection[str]] = tuple,
        max_folders: int = MAX_FOLDERS,
        max_held: int = MAX_HELD,
    ) -> None:
        self._rules = {root: one for root, one in rules.items() if not _lies_in_another(root, rules)}
        self._protected = protected
        self._closed, self._named = closed, named
        self._private = [os.path.realpath(folder) for folder in private]
        self._max_folders = max_folders
        self._max_held = max_held
        self._lock = threading.Lock()
        self._folders: dict[str, _Folder] = {}
        self._lists: dict[Path, Signature | None] = {}
        self._held: Held | None = None
        self._others: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    def look(self) -> Held:
        """Return what is held now. Blocks."""
        if any(root.is_relative_to(folder) for root in self._rules for folder in self._private):
            return Held({}, {}, {}, problem="the workspace is in North's own folders")
        with self._lock:
            try:
                changed = self._refresh()
            except _TooMany:
                self._folders, self._held = {}, None
                return Held({}, {}, {}, problem=f"the workspace has more than {self._max_folders} folders to watch")
            others = frozenset(filter(self._is_inside, self._closed() if self._lists else ()))
            named = frozenset(filter(self._is_inside, self._named()))
            if changed or self._held is None or (others, named) != self._others:
                self._others = others, named
                self._held = self._gathered(others, named)
            return self._held

    def _is_inside(self, path: str) -> bool:
        return any(path.startswith(join(str(root), "")) for root in self._rules)

    # -- walking ---------------------------------------------------------------------------------------------------

    def _refresh(self) -> bool:
        """Read again what has changed; return whether anything has."""
        if not self._folders or any(_signature(path) != known for path, known in self._lists.items()):
            self._folders, self._lists = {}, {}
            for root, rules in self._rules.items():
                self._walk(root, str(root), rules.at_root(), inside=False)
            return True
        changed = [
            (path, folder)
            for path, folder in self._folders.items()
            if folder.changed is None or _state(path) != folder.changed
        ]
        for path, old in changed:
            if path not in self._folders:  # it disappeared with the folder around it
                continue
            root = self._root_of(path)
            new = self._read(root, path, old.chains, inside=old.inside, again=True)
            if new.has_list != old.has_list:
                self._folders = {}
                self._refresh()
                return True
            for name in [name for name, inside in old.folders.items() if new.folders.get(name) != inside]:
                self._forget(join(path, name))
            self._folders[path] = new
            for name, inside in new.folders.items():
                if join(path, name) not in self._folders:
                    self._walk(root, join(path, name), new.chains, inside=inside)
        return bool(changed)

    def _root_of(self, path: str) -> Path:
        return next(root for root in self._rules if path == str(root) or path.startswith(join(str(root), "")))

    def _forget(self, path: str) -> None:
        for one in [one for one in self._folders if one == path or one.startswith(f"{path}/")]:
            del self._folders[one]

    def _walk(self, root: Path, path: str, chains: IgnoreChains, *, inside: bool) -> None:
        waiting = [(path, chains, inside)]
        while waiting:
            path, chains, inside = waiting.pop()
            if len(self._folders) >= self._max_folders:
                raise _TooMany
            folder = self._folders[path] = self._read(root, path, chains, inside=inside)
            waiting += [(join(path, name), folder.chains, below) for name, below in folder.folders.items()]

    def _read(self, root: Path, path: str, chains: IgnoreChains, *, inside: bool, again: bool = False) -> _Folder:
        """Read a folder. `chains` are those of the folder around it, or its own if it is read `again`."""
        changed, now = _state(path), time.time_ns()
        if changed is not None and now - changed[2] < (_LONG_TICK_NS if changed[2] % 10**9 == 0 else _TICK_NS):
            changed = None
        folder = _Folder(chains, changed, {}, inside)
        try:
            entries = _entries(path)
        except FileNotFoundError:
            return folder
        except OSError:
            folder.unreadable = True
            return folder
        names = {entry.name for entry in entries}
        folder.has_list = OWN_IGNORE_FILE in names
        if folder.has_list:
            own = Path(path, OWN_IGNORE_FILE)
            self._lists[own] = _signature(own)
            if path != str(root) and not again:
                folder.chains = chains = self._rules[root].enter(chains, path, {OWN_IGNORE_FILE})
        if not inside and (head := _head_of_repository(names)) is not None:
            folder.packages["."] = _ident(path)
            folder.protected[head] = _ident(join(path, head))
            inside = True
        prefix = "" if path == str(root) else f"{Path(path).relative_to(root).as_posix()}/"
        has_closed = bool(chains.exact.files)
        links: list[str] = []
        files: list[Ident] = []
        for name, is_folder, is_link, status in entries:
            here = join(path, name)
            if here in self._private or (has_closed and chains.closes(path, name, is_folder)):
                folder.hidden[name] = _ident(here)
            if not inside and self._protected(prefix + name):
                folder.protected[name] = _ident(here)
                if is_link:
                    links.append(here)
                if is_folder and has_closed and name not in folder.hidden and name != ".git":
                    folder.folders[name] = True
            elif name in folder.hidden:
                continue
            elif not inside and is_folder and _has_packages(here, name):
                folder.packages[name] = _ident(here)
                if has_closed:
                    folder.folders[name] = True
            elif is_folder:
                folder.folders[name] = inside
            elif not inside and status is not None:
                ident = (status.st_dev, status.st_ino)
                files.append(ident)
                if status.st_nlink > 1:
                    folder.linked[name] = (ident, status.st_nlink)
        folder.files, folder.links = files, tuple(links)
        return folder

    # -- putting together ------------------------------------------------------------------------------------------

    def _gathered(self, others: Collection[str], named: Collection[str]) -> Held:
        protected: dict[str, Ident] = {}
        hidden: dict[str, Ident] = {path: _ident(path) for path in others}
        frozen: dict[str, Ident] = {path: _ident(path) for path in named if not os.path.islink(path)}
        packages: list[str] = []
        for path, folder in self._folders.items():
            if folder.unreadable:
                protected[path] = _ident(path)
            for name, ident in folder.protected.items():
                protected[join(path, name)] = ident
            for name, ident in folder.hidden.items():
                hidden[join(path, name)] = ident
            for name, ident in folder.packages.items():
                whole = path if name == "." else join(path, name)
                frozen[whole] = ident
                if name == _DEPENDENCIES:
                    packages.append(whole)
            for link in folder.links:
                target = os.path.realpath(link)
                if self._is_inside(target):
                    frozen[target] = _ident(target)
        self._add_names(protected, frozen, hidden)
        frozen |= {path: ident for path, ident in protected.items() if not os.path.islink(path)}
        frozen = {path: ident for path, ident in _top(frozen).items() if ident != _NOTHING}
        hidden = {path: ident for path, ident in _top(hidden).items() if ident != _NOTHING and not os.path.islink(path)}
        problem = ""
        if len(frozen) + len(hidden) > self._max_held:
            problem = f"the workspace has more than {self._max_held} protected or closed names"
        caches = tuple(cache for folder in packages if folder in frozen for cache in _caches(folder))
        unreadable = frozenset(path for path, folder in self._folders.items() if folder.unreadable)
        return Held(_top(protected), frozen, hidden, caches, problem, unreadable, frozenset(self._folders))

    def _add_names(self, protected: dict[str, Ident], frozen: dict[str, Ident], hidden: dict[str, Ident]) -> None:
        """Add further names of files that are protected, closed, or also have names outside the workspace."""
        linked = [
            (join(path, name), ident, count)
            for path, folder in self._folders.items()
            for name, (ident, count) in folder.linked.items()
        ]
        if not linked:
            return
        names = Counter(ident for folder in self._folders.values() for ident in folder.files)
        closed = set(hidden.values())
        for path, ident, count in linked:
            if ident in closed:
                hidden[path] = ident
            elif names[ident] < count:
                frozen[path] = ident


class _Entry(NamedTuple):
    """An entry of a folder. `status` is that of a regular file, None for anything else."""

    name: str
    is_folder: bool
    is_link: bool
    status: os.stat_result | None


def _entries(path: str) -> list[_Entry]:
    """Read a folder's entries. Raises OSError, also for a folder that has become a link."""
    descriptor = systems.open_file(path, os.O_RDONLY | systems.DIRECTORY | systems.NOFOLLOW | systems.CLOEXEC)
    try:
        with systems.scan(descriptor) as listing:
            found = []
            for entry in listing:
                status = None
                if entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                found.append(_Entry(entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink(), status))
            return found
    finally:
        os.close(descriptor)


def _has_packages(path: str, name: str) -> bool:
    return name == _DEPENDENCIES or os.path.lexists(join(path, _ENVIRONMENT))


class _TooMany(Exception):
    """There are more folders than can be watched."""


_NOTHING = (0, 0)


def _ident(path: str) -> Ident:
    try:
        status = os.lstat(path)
    except OSError:
        return _NOTHING
    return status.st_dev, status.st_ino


def _state(path: str) -> Signature | None:
    """Return what shows that a folder has changed: its change time cannot be set, and a moved one has another inode."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _signature(path: Path) -> Signature | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ctime_ns, status.st_size, status.st_ino, status.st_mtime_ns


def _head_of_repository(names: Collection[str]) -> str | None:
    """Return the name without which git would not take a folder with these names for a repository, wherever it keeps
    its objects; None if it is not a repository anyway."""
    folded = {name.casefold(): name for name in names}
    if "head" in folded and ("commondir" in folded or {"objects", "refs"} <= folded.keys()):
        return folded["head"]
    return None


def _caches(folder: str) -> list[str]:
    """Return the places in a folder of packages that tools write to, creating those that a tool will need."""
    wanted = [join(folder, name) for name in _CACHES]
    if os.path.isdir(join(folder, "vite")):
        for path in wanted[1:3]:
            try:
                os.mkdir(path)
            except OSError:
                continue
    return [path for path in wanted if os.path.isdir(path) and not os.path.islink(path)]


def _top(paths: Mapping[str, Ident]) -> dict[str, Ident]:
    """Return the paths that are not below another one."""
    found: dict[str, Ident] = {}
    last = None
    for path in sorted(paths, key=lambda one: one.replace("/", "\0")):
        if last is None or not path.startswith(f"{last}/"):
            found[path] = paths[path]
            last = path
    return found


def _lies_in_another(root: Path, roots: Collection[Path]) -> bool:
    return any(root != other and root.is_relative_to(other) for other in roots)
