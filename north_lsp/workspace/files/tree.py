"""The files of a root as a list that is kept up to date: folders are read again only when they have changed."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from heapq import nsmallest
from pathlib import Path

from north_lsp.workspace.files.change_notices import Watch
from north_lsp.workspace.files.file_list import Closing, FolderExtras, Listing, folders_around, without
from north_lsp.workspace.files.folder import Folder, Names, folder_of, read_folder
from north_lsp.workspace.files.fuzzy import FuzzyIndex
from north_lsp.workspace.files.ignore import (
    IGNORE_FILES,
    OWN_IGNORE_FILE,
    IgnoreChains,
    IgnoreRules,
    join,
)
from north_lsp.workspace.files.stamps import KnownFacts, Signature, folder_state, state_in
from north_lsp.workspace.opening import OpenFolders, open_folder

_RECENT_SECONDS = 1.0
_MANY_FOLDERS = 5000
_WATCHED_AT_ONCE = 1000
_PORTION = 200
_PAUSE_SECONDS = 0.001


class FileTree:
    """The list of one root. Threads can share it. At most `index_limit` files can be found by a few letters; the
    absolute paths that `left_out` returns are not in the list."""

    def __init__(
        self,
        rules: IgnoreRules,
        index_limit: int | None = None,
        left_out: Callable[[FileTree], frozenset[str]] = lambda _: frozenset(),
    ) -> None:
        self.rules = rules
        self._index_limit = index_limit
        self._left_out = left_out
        self._lock = threading.Lock()
        self._folders: dict[str, Folder] = {}
        self._watch = Watch(self)
        self._unwatched: set[str] = set()
        self._later: list[str] = []
        self._place: tuple[int, int] | None = None
        self._watched: dict[Path, Signature | None] = {}
        self._listing: Listing | None = None
        self._closing = Closing(False, (), (), ())
        self._shown: tuple[Listing, frozenset[str], Listing] | None = None
        self._looked_at = self._refreshed_at = 0.0
        self._fuzzy: tuple[Listing, FuzzyIndex] | None = None
        self.facts = KnownFacts(rules.root)

    def fuzzy(self, unsaved: Collection[Path] = ()) -> FuzzyIndex:
        """Return an index of the present files and folders, to be found by a few letters. If there are too many, it has
        those that are open (`unsaved`) and those that were changed last."""
        if self._fuzzy is not None and time.monotonic() - self._looked_at < _RECENT_SECONDS:
            return self._fuzzy[1]  # the user is typing
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
        folders = {folder for file in latest for folder in folders_around(file)}
        return FuzzyIndex.of(sorted(latest), sorted(folders), limited=True)

    def listing(self) -> Listing:
        """Return what is there now. Folders that cannot be read look empty."""
        found, _ = self.named()
        left_out = self._left_out(self)
        with self._lock:
            self._looked_at = time.monotonic()
            if not left_out:
                return found
            if self._shown is None or self._shown[:2] != (found, left_out):
                root = self.rules.root
                inside = (Path(path) for path in left_out)
                relative = [path.relative_to(root).as_posix() for path in inside if path.is_relative_to(root)]
                self._shown = (found, left_out, without(found, relative))
            return self._shown[2]

    def lately(self) -> tuple[Listing, Closing]:
        """Return the same as `named`; if very many folders must be checked, as of at most one second ago."""
        many = self._listing is not None and len(self._unwatched) > _MANY_FOLDERS
        if many and time.monotonic() - self._refreshed_at < _RECENT_SECONDS and not self._rules_changed():
            return self.last()
        return self.named()

    def last(self) -> tuple[Listing, Closing]:
        """Return what `named` returned last."""
        listing = self._listing
        return (listing, self._closing) if listing is not None else self.named()

    def named(self) -> tuple[Listing, Closing]:
        """Return what is there by its own name, wherever links lead, and what is known about the user's lists."""
        with self._lock:
            return self._refreshed(), self._closing

    def folders(self) -> Iterator[tuple[str, IgnoreChains, list[str], Sequence[str]]]:
        """Yield the folders as of the last refresh, each with the rules that apply to its entries, their names, and
        those of folders."""
        for folder in list(self._folders.values()):
            if not folder.shut:
                yield folder.path, folder.chains, [*folder.folders, *folder.files, *folder.others], folder.folders

    def kept(self) -> list[FolderExtras]:
        """Return what is in the folders now that lists do not show. Folders without any of it are left out."""
        with self._lock:
            self._refreshed()
            return [
                FolderExtras(folder.path, folder.links, folder.hidden, folder.has_git)
                for folder in self._folders.values()
                if (folder.links or folder.hidden or folder.has_git) and not folder.shut
            ]

    def _refreshed(self) -> Listing:
        if self._listing is None or self._rules_changed():
            self._build()
        else:
            self._refresh()
        assert self._listing is not None
        self._refreshed_at = time.monotonic()
        return self._listing

    def _build(self) -> None:
        self._folders, self._listing, self._unwatched = {}, None, set()
        self._watch.forget_all()
        self._place = _place(self.rules.root)
        watched = (*self.rules.watched(), *(self.rules.root / name for name in IGNORE_FILES))
        self._watched = {path: _signature(path) for path in watched}
        with _collector_paused():
            self._scan("", self.rules.root.as_posix(), self.rules.at_root())
            self._listing = self._flat()
        if len(self._folders) > _WATCHED_AT_ONCE:
            self._watch_rest()

    def _rules_changed(self) -> bool:
        return any(_signature(path) != known for path, known in self._watched.items())

    def _refresh(self) -> None:
        told = self._watch.changed()
        if told is None or self._place is None or _place(self.rules.root) != self._place:
            self._build()  # the folder that is there now may not be the watched one
            return
        changed = [relative for relative in told if relative in self._folders]
        for relative in self._unwatched:
            folder = self._folders[relative]
            if folder.changed is None or folder_state(folder.path) != folder.changed:
                changed.append(relative)
        if not changed:
            return
        changed.sort()  # a folder before those in it
        same = True
        for relative in changed:
            old = self._folders.get(relative)
            if old is None:  # it disappeared with the folder around it
                continue
            found = self._read(relative, old.path)
            if found is None and relative:
                self._forget(relative)
                same = False
                continue
            if not old.shut and (found.ignore_files if found is not None else frozenset()) != old.ignore_files:
                self._build()
                return
            new = folder_of(old.path, old.chains, found, old.ignore_files, shut=old.shut)
            for name in set(old.below) - set(new.below):
                self._forget(f"{relative}/{name}" if relative else name)
            kept = set(old.below)
            self._folders[relative] = new
            for name in new.below:
                if name not in kept:
                    shut = name in new.shut_folders
                    self._scan(f"{relative}/{name}" if relative else name, join(old.path, name), old.chains, shut=shut)
            same = same and replace(new, changed=None) == replace(old, changed=None)
        if not same:
            self._listing = self._flat()

    def _forget(self, relative: str) -> None:
        for path in [path for path in self._folders if path == relative or path.startswith(f"{relative}/")]:
            del self._folders[path]
            self._unwatched.discard(path)
            self._watch.remove(path)

    def _read(self, relative: str, path: str) -> Names | None:
        try:
            with open_folder(path) as descriptor:
                return self._read_open(relative, descriptor)
        except OSError:
            return self._read_open(relative, None)

    def _read_open(self, relative: str, descriptor: int | None) -> Names | None:
        """Read a folder, which is None if it cannot be opened."""
        found = None
        if descriptor is not None:
            found = read_folder(descriptor, partial(self._watch.add, relative))
        if found is None:
            self._watch.remove(relative)
        if relative in self._watch:
            self._unwatched.discard(relative)
        else:
            self._unwatched.add(relative)
        return found

    def _watch_rest(self) -> None:
        """Have the folders watched that were only read, on a thread: watching them takes a quarter of the first list.
        Until then they are compared with what they were."""
        self._later = [relative for relative in self._folders if relative in self._unwatched]
        threading.Thread(target=_watch_in_portions, args=(weakref.ref(self),), daemon=True).start()

    def watch_some(self, most: int) -> bool:
        """Watch some of the folders that were only read; return whether there are more. One that has changed since it
        was read is left, and read again by the next list."""
        with self._lock:
            now, self._later = self._later[:most], self._later[most:]
            for relative in now:
                folder = self._folders.get(relative)
                if folder is None or relative not in self._unwatched:
                    continue
                with suppress(OSError), open_folder(folder.path) as descriptor:
                    status = os.fstat(descriptor)
                    self._watch.add(relative, descriptor, status.st_dev)
                    is_same = folder.changed is not None and state_in(os.fstat(descriptor)) == folder.changed
                    if is_same and relative in self._watch:
                        self._unwatched.discard(relative)
            return bool(self._later)

    def _scan(self, relative: str, path: str, chains: IgnoreChains, *, shut: bool = False) -> None:
        """Read a folder and everything below it. `chains` are those of the folder around it, for the root its own."""
        with OpenFolders() as opened:
            folder = self._take(opened.enter(path), relative, path, chains, shut=shut)
            prefix = f"{relative}/" if relative else ""
            waiting = [(folder, prefix, join(path, ""), iter(folder.below))]
            while waiting:
                around, prefix, inside, names = waiting[-1]
                for name in names:
                    relative, path = prefix + name, inside + name
                    descriptor = opened.enter(path, name)
                    folder = self._take(descriptor, relative, path, around.chains, shut=name in around.shut_folders)
                    if folder.folders or folder.shut_folders:
                        opened.stay()
                        waiting.append((folder, f"{relative}/", f"{path}/", iter(folder.below)))
                        break
                    opened.leave()  # most have only files
                else:
                    waiting.pop()
                    opened.leave()

    def _take(
        self, descriptor: int | None, relative: str, path: str, chains: IgnoreChains, *, shut: bool = False
    ) -> Folder:
        """Read one folder."""
        if self._listing is not None or len(self._folders) < _WATCHED_AT_ONCE:
            found = self._read_open(relative, descriptor)
        else:  # it is watched later
            found = read_folder(descriptor) if descriptor is not None else None
            self._unwatched.add(relative)
        ignore_files: frozenset[str] = found.ignore_files if found is not None and not shut else frozenset()
        if ignore_files and relative:  # those of the root are in its chains already
            for name in ignore_files:
                self._watched[Path(path, name)] = _signature(Path(path, name))
            chains = self.rules.enter(chains, path, ignore_files)
        folder = self._folders[relative] = folder_of(path, chains, found, ignore_files, shut=shut)
        return folder

    def _flat(self) -> Listing:
        files: list[str] = []
        folders: list[str] = []
        others: list[str] = []
        known = self._folders
        # A folder, its prefix, and how many of its folders, files and others have been taken.
        waiting: list[tuple[Folder, str, int, int, int]] = [(known[""], "", 0, 0, 0)]
        while waiting:
            folder, prefix, below, at, other = waiting.pop()
            inner: Folder | None = None
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
                if inner is not None and not inner.folders:  # most have only files
                    within, inner = inner, None
                    inside = f"{relative}/"
                    files += [inside + file for file in within.files]
                    if within.others:
                        others += [inside + one for one in within.others]
            if inner is not None:
                waiting += [(folder, prefix, below, at, other), (inner, f"{relative}/", 0, 0, 0)]
                continue
            files += [prefix + file for file in folder.files[at:]]
            others += [prefix + one for one in folder.others[other:]]
        listing = Listing(tuple(files), tuple(folders), tuple(others), self._whole())
        self._closing = self._what_closes()
        return listing

    def _what_closes(self) -> Closing:
        known = self._folders.values()
        listed = any(folder.chains.exact.files for folder in known)
        if not listed:
            listed = any(OWN_IGNORE_FILE in folder.ignore_files for folder in known)
        links = (join(folder.path, name) for folder in known if folder.links for name in folder.links)
        files = (join(folder.path, name) for folder in known if folder.shut_files for name in folder.shut_files)
        spelled = (
            join(folder.path, path)
            for folder in known
            if OWN_IGNORE_FILE in folder.ignore_files
            for path in folder.chains.named_paths(folder.path)
        )
        chains = {id(folder.chains): folder.chains for folder in known}.values()
        problems = (file.problem for one in chains for _, file in one.exact.files if file.problem is not None)
        unseen = (join(folder.path, name) for folder in known for name in folder.unseen)
        return Closing(
            listed, tuple(links), tuple(spelled), tuple(files), tuple(dict.fromkeys(problems)), tuple(unseen)
        )

    def _whole(self) -> tuple[str, ...]:
        """Return `Listing.whole`."""
        known = self._folders
        broken = {relative: folder for relative, folder in known.items() if not folder.whole}
        for relative in list(broken):
            for around in (*folders_around(relative), ""):
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
        return tuple(sorted(chosen))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep Python's garbage collector from looking again and again through what is read, all of which stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:  # by a start, or by another list, it is paused already
            gc.enable()


def _watch_in_portions(tree: weakref.ref[FileTree]) -> None:
    """Leave others room between the portions, and end with the tree."""
    while (one := tree()) is not None and one.watch_some(_PORTION):
        del one
        time.sleep(_PAUSE_SECONDS)


def _place(root: Path) -> tuple[int, int] | None:
    """Return what distinguishes a folder from another that has taken its place; None if there is none."""
    try:
        status = os.lstat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _signature(path: Path) -> Signature | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _changed_at(path: str) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
