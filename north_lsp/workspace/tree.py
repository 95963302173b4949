"""The files of a root as a list that is kept up to date: folders are read again only when they have changed."""

import os
import stat
import threading
import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import NamedTuple

from north_lsp.errors import ToolError
from north_lsp.workspace.fuzzy import FuzzyIndex
from north_lsp.workspace.ignore import IGNORE_FILES, OWN_IGNORE_FILE, Chains, IgnoreRules, join, walk
from north_lsp.workspace.opening import open_folder
from north_lsp.workspace.paths import Resolved, Roots, belongs_to_north, lies_in

# A folder may change again within one tick of its clock, which a second look could not tell: such a young one counts as
# changed. File systems that keep whole seconds only have a long tick.
_TICK_NS = 50_000_000
_LONG_TICK_NS = 2_000_000_000
_RECENT_SECONDS = 1.0

_NONE = frozenset[str]()

Signature = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What walks meet, by kind, relative to the root and in path order (a folder's contents at the folder's place).
    `others` are links and whatever else is neither file nor folder. `whole` stands for all files in fewer names:
    folders of which nothing is left out at any depth, and files elsewhere; None if that is not known."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    others: tuple[str, ...]
    whole: tuple[str, ...] | None = None


@dataclass(slots=True)
class _Folder:
    """One folder as it was read: sub-folders and files by name, in order, and the links that the user closed."""

    path: str
    chains: Chains
    changed: Signature | None
    folders: Sequence[str] = ()
    files: Sequence[str] = ()
    others: Sequence[str] = ()
    ignore_files: frozenset[str] = _NONE
    whole: bool = False
    closed_links: tuple[str, ...] = ()


class _Names(NamedTuple):
    """What is in a folder: all names, which of them are folders and which neither folder nor file, and what told the
    folder's state before it was read."""

    names: list[str]
    folders: Collection[str]
    others: Collection[str]
    changed: Signature | None


class FileTree:
    """The list of one root. Threads may share it. At most `index_limit` files are found by a few letters."""

    def __init__(self, rules: IgnoreRules, index_limit: int | None = None) -> None:
        self.rules = rules
        self._index_limit = index_limit
        self._lock = threading.Lock()
        self._folders: dict[str, _Folder] = {}
        self._watched: dict[Path, Signature | None] = {}
        self._listing: Listing | None = None
        self._looked_at = 0.0
        self._fuzzy: tuple[Listing, FuzzyIndex] | None = None
        self._facts: dict[str, dict[str, Signature]] = {}
        self._links: tuple[str, ...] = ()
        self._spelled: tuple[str, ...] = ()
        self._closed: frozenset[str] = frozenset()
        self._may_close = False

    def fuzzy(self, unsaved: Collection[Path] = ()) -> FuzzyIndex:
        """The files and folders that there are now, to be found by a few letters. Where there are too many, those that
        are open (`unsaved`) and those that were changed last."""
        if self._fuzzy is not None and time.monotonic() - self._looked_at < _RECENT_SECONDS:
            return self._fuzzy[1]  # someone is typing
        listing = self.listing()
        if self._fuzzy is None or self._fuzzy[0] is not listing:
            self._fuzzy = (listing, self._indexed(listing, unsaved))
        return self._fuzzy[1]

    def _indexed(self, listing: Listing, unsaved: Collection[Path]) -> FuzzyIndex:
        most = self._index_limit
        if most is None or len(listing.files) <= most:
            return FuzzyIndex.of(listing.files, listing.folders)
        root = self.rules.root
        opened = {path.relative_to(root).as_posix() for path in unsaved if path.is_relative_to(root)}
        latest = nsmallest(most, listing.files, key=lambda file: (file not in opened, -_changed_at(f"{root}/{file}")))
        folders = {folder for file in latest for folder in _folders_around(file)}
        return FuzzyIndex.of(sorted(latest), sorted(folders), limited=True)

    def unknown(self, fact: str, files: Iterable[str], size_limit: int) -> list[str]:
        """The files of which `learn` was not told a fact, or that have changed since, or are larger than this."""
        known, root, lstat = self._facts.setdefault(fact, {}), f"{self.rules.root}/", os.lstat
        result: list[str] = []
        for relative in files:
            signature = known.get(relative)
            if signature is not None and signature[1] <= size_limit:
                try:
                    status = lstat(root + relative)
                except OSError:
                    status = None
                if status is not None and signature == (
                    status.st_mtime_ns,
                    status.st_size,
                    status.st_ino,
                    status.st_ctime_ns,
                ):
                    continue
            result.append(relative)
        return result

    def signatures(self, files: Iterable[str]) -> dict[str, Signature | None]:
        """What to take before a fact about files is found out."""
        return {relative: _file_signature(f"{self.rules.root}/{relative}") for relative in files}

    def learn(self, fact: str, signatures: Mapping[str, Signature | None]) -> None:
        """Remember that something is true of the contents of these files."""
        known = self._facts.setdefault(fact, {})
        known.update((relative, signature) for relative, signature in signatures.items() if signature is not None)

    def listing(self) -> Listing:
        """What is there now. Folders that cannot be read look empty."""
        with self._lock:
            if self._listing is None or self._rules_changed():
                self._build()
            else:
                self._refresh(self._listing)
                if self._targets() != self._closed:  # a link leads elsewhere now
                    self._listing = self._flat()
            assert self._listing is not None
            self._looked_at = time.monotonic()
            return self._listing

    def closed(self) -> frozenset[str]:
        """The real paths, absolute, to which links lead that the user's `.northignore` files name: a file is closed by
        each of its names. Links in folders that git ignores count if a line spells their whole path. One that is new
        counts after a second at the latest, so that not every reading looks at all folders again."""
        with self._lock:
            fresh = self._listing is not None and time.monotonic() - self._looked_at < _RECENT_SECONDS
            if fresh and not self._rules_changed():
                return self._targets()
            if self._listing is not None and not self._may_close and not self._has_own_list():
                return frozenset()
        self.listing()
        return self._closed

    def _has_own_list(self) -> bool:
        return os.path.lexists(self.rules.root / OWN_IGNORE_FILE)

    def _build(self) -> None:
        self._folders, self._listing = {}, None
        watched = (*self.rules.watched(), self.rules.root / OWN_IGNORE_FILE)
        self._watched = {path: _signature(path) for path in watched}
        self._scan("", str(self.rules.root), self.rules.at_root())
        self._listing = self._flat()

    def _rules_changed(self) -> bool:
        return any(_signature(path) != known for path, known in self._watched.items())

    def _refresh(self, before: Listing) -> None:
        changed = [
            relative
            for relative, folder in self._folders.items()
            if folder.changed is None or _state(folder.path) != folder.changed
        ]
        if not changed:
            return
        same = True
        for relative in changed:
            old = self._folders.get(relative)
            if old is None:  # gone with the folder around it
                continue
            found = _read(old.path)
            if found is None and relative:
                self._forget(relative)
                same = False
                continue
            if _ignore_files(found) != old.ignore_files:
                self._build()
                return
            new = _folder(old.path, old.chains, found, old.ignore_files)
            for name in set(old.folders) - set(new.folders):
                self._forget(f"{relative}/{name}" if relative else name)
            kept = set(old.folders)
            self._folders[relative] = new
            for name in new.folders:
                if name not in kept:
                    self._scan(f"{relative}/{name}" if relative else name, join(old.path, name), old.chains)
            new_names, old_names = (new.folders, new.files, new.others), (old.folders, old.files, old.others)
            same = same and new_names == old_names and new.whole == old.whole
            same = same and new.closed_links == old.closed_links
        if not same:
            self._listing = self._flat()

    def _forget(self, relative: str) -> None:
        for path in [path for path in self._folders if path == relative or path.startswith(f"{relative}/")]:
            del self._folders[path]

    def _scan(self, relative: str, path: str, chains: Chains) -> None:
        """Read a folder and all below it. `chains` are those of the folder around it."""
        waiting = [(relative, path, chains)]
        while waiting:
            relative, path, chains = waiting.pop()
            found = _read(path)
            ignore_files = _ignore_files(found)
            if ignore_files:
                chains = self.rules.enter(chains, path, ignore_files)
                for name in ignore_files:
                    self._watched[Path(path, name)] = _signature(Path(path, name))
            folder = self._folders[relative] = _folder(path, chains, found, ignore_files)
            if folder.folders:
                prefix, inside = f"{relative}/" if relative else "", join(path, "")
                waiting += [(prefix + name, inside + name, chains) for name in folder.folders]

    def _flat(self) -> Listing:
        files: list[str] = []
        folders: list[str] = []
        others: list[str] = []
        known = self._folders
        # A folder, its prefix, and how many of its folders, files and others have been taken.
        waiting: list[tuple[_Folder, str, int, int, int]] = [(known[""], "", 0, 0, 0)]
        while waiting:
            folder, prefix, below, at, other = waiting.pop()
            inner: _Folder | None = None
            while below < len(folder.folders) and inner is None:
                name = folder.folders[below]
                below += 1
                if at < (end := bisect_left(folder.files, name, at)):
                    files += [prefix + file for file in folder.files[at:end]]
                    at = end
                if other < (end := bisect_left(folder.others, name, other)):
                    others += [prefix + one for one in folder.others[other:end]]
                    other = end
                relative = prefix + name
                folders.append(relative)
                inner = known.get(relative)
                if inner is not None and not inner.folders:  # most have files only
                    within, inner = inner, None
                    files += [f"{relative}/{file}" for file in within.files]
                    others += [f"{relative}/{one}" for one in within.others]
            if inner is not None:
                waiting += [(folder, prefix, below, at, other), (inner, f"{relative}/", 0, 0, 0)]
                continue
            files += [prefix + file for file in folder.files[at:]]
            others += [prefix + one for one in folder.others[other:]]
        listing = Listing(tuple(files), tuple(folders), tuple(others), self._whole())
        self._may_close = any(OWN_IGNORE_FILE in folder.ignore_files for folder in known.values())
        self._links, self._spelled = tuple(self._closed_links()), tuple(self._spelled_out())
        self._closed = self._targets()
        inside = (Path(path) for path in self._closed)
        root = self.rules.root
        return _without(listing, [path.relative_to(root).as_posix() for path in inside if path.is_relative_to(root)])

    def _closed_links(self) -> Iterator[str]:
        with_links = [folder for folder in self._folders.values() if folder.closed_links]
        return (join(folder.path, name) for folder in with_links for name in folder.closed_links)

    def _spelled_out(self) -> Iterator[str]:
        """What the user's lists name by its whole path."""
        for folder in self._folders.values():
            if OWN_IGNORE_FILE in folder.ignore_files:
                yield from (join(folder.path, path) for path in folder.chains.spelled_out(folder.path))

    def _targets(self) -> frozenset[str]:
        """Where the links lead that are closed."""
        root = self.rules.root
        named = (path for path in self._spelled if os.path.islink(path))
        closed = (path for path in named if self.rules.closed(Path(path).relative_to(root).as_posix()))
        return frozenset(filter(None, map(_target, (*self._links, *closed))))

    def _whole(self) -> tuple[str, ...]:
        """See Listing."""
        known = self._folders
        broken = {relative: folder for relative, folder in known.items() if not folder.whole}
        for relative in list(broken):
            for around in (*_folders_around(relative), ""):
                if around in broken:
                    break
                broken[around] = known[around]
        if not broken:
            return ("./",)
        chosen: list[str] = []
        for relative, folder in broken.items():
            prefix = f"{relative}/" if relative else ""
            chosen += [prefix + name for name in folder.files]
            chosen += [prefix + name for name in folder.folders if prefix + name not in broken]
        return tuple(chosen)


@dataclass
class Trees:
    """The trees of all roots, made when first asked for. What is in `private` folders is left out."""

    roots: Roots
    rules: Mapping[Path, IgnoreRules]
    private: tuple[Path, ...] = ()
    index_limit: int | None = None
    _trees: dict[Path, FileTree] = field(default_factory=dict)

    @classmethod
    def of(cls, roots: Roots, private: tuple[Path, ...] = ()) -> "Trees":
        return cls(roots, {root: IgnoreRules.of(root) for root in (*roots.roots, *roots.extra)}, private)

    def tree(self, root: Path) -> FileTree:
        return self._trees.setdefault(root, FileTree(self.rules[root], self.index_limit))

    def outermost(self) -> Iterator[tuple[Path, Listing]]:
        """The roots and what is in them, main root first; what lies in an earlier root as well comes once."""
        for at, root in enumerate(self.roots.roots):
            earlier = self.roots.roots[:at]
            if any(root.is_relative_to(other) for other in earlier):
                continue
            listing = self.tree(root).listing()
            inner = [other.relative_to(root).as_posix() for other in earlier if other.is_relative_to(root)]
            yield root, self._open(root, _without(listing, inner))

    def _open(self, root: Path, listing: Listing) -> Listing:
        left_out = (*map(Path, map(os.path.realpath, self.private)), *map(Path, self.tree(root).closed()))
        inner = [folder.relative_to(root).as_posix() for folder in left_out if folder.is_relative_to(root)]
        return _without(listing, inner)

    def closed(self, path: Path) -> str | None:
        """The name on the user's list that closes a real path: its own, or that of a link to it or to a folder around
        it. None for an open one. Takes a while the first time."""
        if (name := self._closed_by_name(path)) is not None:
            return name
        around = {str(path), *map(str, path.parents)}
        targets = (target for one in self.roots.roots for target in self.tree(one).closed() if target in around)
        return next(targets, None)

    def refuse(self, resolved: Resolved) -> None:
        """Raise ToolError for what tools may not touch: IGNORED for what the user closed, by any of the names by which
        it was reached; OUTSIDE_WORKSPACE for North's own files."""
        for name in (*map(Path, resolved.names), resolved.path):
            if self._closed_by_name(name) is not None:
                raise self._is_closed(resolved)
        if self.closed(resolved.path) is not None:
            raise self._is_closed(resolved)
        if lies_in(resolved.path, self.private):
            raise belongs_to_north(resolved)

    def resolve(self, spelled: str) -> Resolved:
        """`Roots.resolve` and `refuse` in one: a path that tools may look at and change. Raises ToolError."""
        resolved = self.roots.resolve(spelled)
        self.refuse(resolved)
        return resolved

    def resolve_readable(self, spelled: str) -> Resolved:
        """As `resolve`, also for the folders that the user's settings open for reading."""
        resolved = self.roots.resolve_readable(spelled)
        self.refuse(resolved)
        return resolved

    def _is_closed(self, resolved: Resolved) -> ToolError:
        return ToolError(
            "IGNORED", f"{resolved.relative} is named by .northignore", "the user keeps it closed to tools"
        )

    def _closed_by_name(self, path: Path) -> str | None:
        """What the lists of the roots around it say of a path, links in it taken as they are."""
        for root in (*self.roots.roots, *self.roots.extra):
            if path.is_relative_to(root):
                relative = path.relative_to(root).as_posix()
                if self.rules[root].closed(relative):
                    return relative
        return None

    def below(self, root: Path, relative: str) -> Listing:
        """What is in a folder of a root. What is ignored is there if the folder itself is."""
        if relative in ("", "."):
            return self._open(root, self.tree(root).listing())
        rules = self.rules[root]
        if rules.ignored(relative, True):
            kinds: tuple[list[str], list[str], list[str]] = ([], [], [])
            for entry in walk(root / relative, rules):
                kinds[0 if _is_file(entry.path) else 1 if entry.is_dir else 2].append(entry.relative)
            found = Listing(*(tuple(sorted(paths, key=in_path_order)) for paths in kinds))
            return self._open(root, found)
        listing, prefix = self.tree(root).listing(), f"{relative}/"
        chosen = (
            tuple(path for path in paths if path.startswith(prefix))
            for paths in (listing.files, listing.folders, listing.others)
        )
        return self._open(root, Listing(*chosen))


def _folder(path: str, chains: Chains, found: _Names | None, ignore_files: frozenset[str]) -> _Folder:
    if found is None:
        return _Folder(path, chains, None)
    shown = chains.shown(path, found.names, found.folders)
    whole = len(shown) == len(found.names)
    if not found.folders and not found.others:  # most have files only
        return _Folder(path, chains, found.changed, (), shown, (), ignore_files, whole)
    folders = [name for name in shown if name in found.folders]
    others = [name for name in shown if name in found.others]
    files = [name for name in shown if name not in found.folders and name not in found.others]
    closed = () if whole else _closed_links(path, chains, found.others)
    return _Folder(path, chains, found.changed, folders, files, others, ignore_files, whole, closed)


def _ignore_files(found: _Names | None) -> frozenset[str]:
    if found is None or IGNORE_FILES.isdisjoint(found.names):
        return _NONE
    return IGNORE_FILES.intersection(found.names)


def _target(link: str) -> str | None:
    """Where a link leads; None for nowhere, for what is none any more, and for a folder around it, which it does not
    close."""
    if not os.path.islink(link):
        return None
    try:
        target = os.path.realpath(link, strict=True)
    except OSError:
        return None
    return None if Path(link).is_relative_to(target) else target


def _closed_links(path: str, chains: Chains, others: Collection[str]) -> tuple[str, ...]:
    if not chains.exact.files:
        return ()
    links = (name for name in others if os.path.islink(join(path, name)))
    # A link to a folder is one in a user's eyes.
    return tuple(name for name in links if chains.closes(path, name, os.path.isdir(join(path, name))))


def in_path_order(relative: str) -> str:
    """Sorts paths by their components: no character of a name sorts before NUL."""
    return relative.replace("/", "\0")


def _without(listing: Listing, folders: Sequence[str]) -> Listing:
    for folder in folders:
        if folder == ".":
            return Listing((), (), ())
        prefix = f"{folder}/"
        kinds = (listing.files, listing.folders, listing.others)
        listing = Listing(
            *(tuple(path for path in paths if path != folder and not path.startswith(prefix)) for paths in kinds)
        )
    return listing


def _changed_at(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _folders_around(file: str) -> Iterator[str]:
    while (file := file.rpartition("/")[0]) != "":
        yield file


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _read(path: str) -> _Names | None:
    """None for a folder that cannot be read."""
    try:
        with open_folder(path) as descriptor, os.scandir(descriptor) as listing:
            changed = _state_in(os.fstat(descriptor))
            entries = list(listing)
            special = [entry for entry in entries if not entry.is_file(follow_symlinks=False)]
            folders = [entry.name for entry in special if entry.is_dir(follow_symlinks=False)] if special else ()
    except OSError:
        return None
    names = [entry.name for entry in entries]
    if len(special) == len(folders):
        return _Names(names, frozenset(folders), _NONE, changed)
    return _Names(names, frozenset(folders), frozenset([entry.name for entry in special]) - set(folders), changed)


def _state(path: str) -> Signature | None:
    """What tells whether a folder has changed; None if that cannot be told."""
    try:
        return _state_in(os.lstat(path))
    except OSError:
        return None


def _state_in(status: os.stat_result) -> Signature | None:
    modified = status.st_mtime_ns
    tick = _TICK_NS if modified % 1_000_000_000 else _LONG_TICK_NS
    if time.time_ns() - modified < tick:
        return None
    return modified, status.st_ino, status.st_dev


def _file_signature(path: str) -> Signature | None:
    """Tells whether a file has changed; None if it is too young to tell."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    tick = _TICK_NS if status.st_mtime_ns % 1_000_000_000 else _LONG_TICK_NS
    if time.time_ns() - status.st_mtime_ns < tick:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _signature(path: Path) -> Signature | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
