"""The trees of all roots, and the only gate for paths that tools are given: where they lead, and whether they are
open."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.closed_names import Closed, Links, among_unseen, hard_links
from north_lsp.workspace.files.file_list import Closing, Listing, in_path_order, is_among, without
from north_lsp.workspace.files.ignore import (
    NO_CHAINS,
    OWN_IGNORE_FILE,
    IgnoreChains,
    IgnoreRules,
    join,
    slashed,
    walk,
)
from north_lsp.workspace.files.tree import FileTree
from north_lsp.workspace.paths import Inside, Resolved, Roots, belongs_to_north

_Seen = tuple[tuple[Listing, ...], frozenset[tuple[str, ...]]]


@dataclass
class Trees:
    """The trees of all roots, created on first use. What is in `private` folders is left out."""

    roots: Roots
    rules: Mapping[Path, IgnoreRules]
    private: tuple[Path, ...] = ()
    index_limit: int | None = None
    _trees: dict[Path, FileTree] = field(default_factory=dict)
    _closed: tuple[_Seen, frozenset[str]] | None = None

    @classmethod
    def of(cls, roots: Roots, private: tuple[Path, ...] = (), index_limit: int | None = None) -> Trees:
        return cls(roots, {root: IgnoreRules.of(root) for root in (*roots.roots, *roots.extra)}, private, index_limit)

    def limited(self, index_limit: int) -> Trees:
        """Return trees of which at most so many files can be found by a few letters."""
        return self if index_limit == self.index_limit else Trees(self.roots, self.rules, self.private, index_limit)

    def tree(self, root: Path) -> FileTree:
        known = self._trees.get(root)
        if known is None:
            known = self._trees.setdefault(root, FileTree(self.rules[root], self.index_limit, self._left_out))
        return known

    # -- the gate ----------------------------------------------------------------------------------------------------

    def resolve(self, raw_path: str) -> Resolved:
        """Resolve a path that tools may read and change: `Roots.resolve` and `refuse` in one. Raises ToolError."""
        resolved = self.roots.resolve(raw_path)
        self.refuse(resolved)
        return resolved

    def resolve_readable(self, raw_path: str) -> Resolved:
        """Resolve a path as `resolve` does, but accept the folders that the user's settings open for reading, too."""
        resolved = self.roots.resolve_readable(raw_path)
        self.refuse(resolved)
        return resolved

    def refuse(self, resolved: Resolved) -> None:
        """Raise ToolError for what tools must not touch: IGNORED for what the user closed, by any of its names or of
        those by which it was reached; OUTSIDE_WORKSPACE for North's own files. Takes a while the first time."""
        self.gate().refuse(resolved)

    def closed(self, path: Path) -> str | None:
        """Say what closes a real path: the user's list names it, or a link to it or to a folder around it, or it is a
        file that has another, closed name. None for a path that is open."""
        return self.gate().closed(path)

    def gate(self) -> Gate:
        """Return the gate as it is now, for many paths that are judged at one moment."""
        return Gate(self)

    def closings(self) -> list[Closing]:
        """Return what is known about the user's lists, and links, in all trees."""
        return [tree.lately()[1] for tree in self._every()]

    def linked(self) -> Mapping[tuple[int, int], str]:
        """Return the closed files that may have names other than their own."""
        return self._look(None)[1]

    def has_lists(self) -> bool:
        """Return whether the user's list closes anything anywhere."""
        return any(closing.listed for closing in self.closings())

    def first_closed(self, paths: Iterable[Path]) -> Path | None:
        """Return the first of many paths, which may have been deleted, that is closed by any of its names. Links on the
        way to them are not resolved; other hard links are not looked for."""
        closings = self.closings()
        if not any(closing.listed for closing in closings):
            return None
        links = _links(closings)
        closed, leads_to = Closed(self.rules, links), frozenset(links.targets)
        inside: dict[str, list[str]] = {}
        for path in paths:
            inside.setdefault(path.parent.as_posix(), []).append(path.name)
        for folder, names in inside.items():
            found = closed.among(None, folder, NO_CHAINS, names, ())
            if found is None:
                return Path(folder, names[0])
            if (name := next((one for one in names if one in found), None)) is not None:
                return Path(folder, name)
            for target in leads_to.intersection(join(folder, one) for one in names):
                if closed.why(Path(target)) is not None:
                    return Path(target)
        return None

    # -- lists ---------------------------------------------------------------------------------------------------------

    def outermost(self) -> Iterator[tuple[Path, Listing]]:
        """Yield the roots and what is in them, main root first; what is also in an earlier root comes only once."""
        for at, root in enumerate(self.roots.roots):
            earlier = self.roots.roots[:at]
            if any(root.is_relative_to(other) for other in earlier):
                continue
            listing = self.tree(root).listing()
            yield root, without(listing, [other.relative_to(root).as_posix() for other in _within(root, earlier)])

    def below(self, root: Path, relative: str) -> Listing:
        """Return what is in a folder of a root. Ignored files are included if the folder itself is ignored."""
        if relative in ("", "."):
            return self.tree(root).listing()
        rules = self.rules[root]
        if rules.ignored(relative, True):
            kinds: tuple[list[str], list[str], list[str]] = ([], [], [])
            for entry in walk(root / relative, rules):
                kinds[0 if _is_file(entry.path) else 1 if entry.is_dir else 2].append(entry.relative)
            found = Listing(*(tuple(sorted(paths, key=in_path_order)) for paths in kinds))
            left_out = (*self._left_out(None), *self._closed_in(root, found))
            return without(found, [path.relative_to(root).as_posix() for path in _within(root, map(Path, left_out))])
        listing, prefix = self.tree(root).listing(), f"{relative}/"
        chosen = (
            tuple(path for path in paths if path.startswith(prefix))
            for paths in (listing.files, listing.folders, listing.others)
        )
        return Listing(*chosen)

    def left_out(self) -> frozenset[str]:
        """Return the real, absolute paths that no list shows, although none of the user's lists names them directly."""
        return self._left_out(None)

    def problems(self) -> list[str]:
        """Say what is closed because the meaning of the user's lists is unknown."""
        found = (problem for tree in self._every() for problem in tree.last()[1].problems)
        return list(dict.fromkeys(found))

    def _every(self) -> list[FileTree]:
        """Return the trees whose links may close something. A folder that is only read may be very large: it is looked
        through if it has a list at its top, or was searched."""
        extra = (root for root in self.roots.extra if root in self._trees or os.path.lexists(root / OWN_IGNORE_FILE))
        return [self.tree(root) for root in dict.fromkeys((*self.roots.roots, *extra))]

    def _left_out(self, fresh: FileTree | None) -> frozenset[str]:
        """Return the same as `left_out`; the tree `fresh` has just been refreshed."""
        closed, linked = self._look(fresh)
        if linked:
            files = (join(tree.rules.root.as_posix(), file) for tree in self._every() for file in tree.last()[0].files)
            closed = closed.union(path for path in files if _inode(path) in linked)
        if unseen := [folder for tree in self._every() for folder in tree.last()[1].unseen]:
            files = (join(tree.rules.root.as_posix(), file) for tree in self._every() for file in tree.last()[0].files)
            several = {path: inode for path in files if (inode := _inode(path)) is not None}
            inside = among_unseen(unseen, several.values())
            closed = closed.union(path for path, inode in several.items() if inode in inside)
        return closed.union(slashed(os.path.realpath(folder)) for folder in self.private)

    def _look(self, fresh: FileTree | None) -> tuple[frozenset[str], Mapping[tuple[int, int], str]]:
        """Return the real paths that are closed by names other than their own, and the closed files that may have such
        names."""
        trees = self._every()
        seen = [tree.last() if tree is fresh else tree.named() for tree in trees]
        closings = [closing for _, closing in seen]
        if not any(closing.listed for closing in closings):
            return frozenset(), {}
        links = _links(closings)
        state: _Seen = (tuple(listing for listing, _ in seen), links.state)
        known = self._closed
        if known is None or known[0][1] != state[1] or not _are_same(known[0][0], state[0]):
            known = self._closed = (state, frozenset(self._find_closed(trees, links)))
        files = [file for closing in closings for file in closing.files]
        if known[1]:
            for tree, (listing, _) in zip(trees, seen, strict=True):
                prefix = join(tree.rules.root.as_posix(), "")
                files += [prefix + file for file in listing.files if is_among(prefix + file, known[1])]
        return known[1], hard_links(files)

    def _find_closed(self, trees: list[FileTree], links: Links) -> Iterator[str]:
        closed = Closed(self.rules, links)
        for target in links.targets:
            if closed.why(Path(target)) is not None:
                yield target
        for tree in trees:
            for folder, chains, names, folders in tree.folders():
                found = closed.among(tree.rules.root, folder, chains, names, folders)
                if found is None:
                    yield folder
                else:
                    yield from (join(folder, name) for name in found)

    def _closed_in(self, root: Path, found: Listing) -> Iterator[str]:
        """Yield what is closed by other names in a folder that is not in the tree."""
        if any(tree.last()[1].listed for tree in self._every()):
            for relative in (*found.files, *found.folders, *found.others):
                if self.closed(root / relative) is not None:
                    yield join(root.as_posix(), relative)


class Gate:
    """The gate at one moment: what is common to several paths is looked at once, when the first of them is judged."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._lists: dict[Path, dict[str, IgnoreChains]] = {}
        self._private: Inside | None = None
        self._closings: list[Closing] | None = None
        self._names: Closed | None = None
        self._linked: Mapping[tuple[int, int], str] | None = None

    def resolve(self, raw_path: str) -> Resolved:
        """Resolve a path as `Trees.resolve` does."""
        resolved = self._trees.roots.resolve(raw_path)
        self.refuse(resolved)
        return resolved

    def refuse(self, resolved: Resolved) -> None:
        """Raise ToolError as `Trees.refuse` does."""
        own = str(resolved.path)
        others = (self._by_name(Path(name)) for name in resolved.names if name != own)
        reason = next((reason for reason in others if reason is not None), None) or self.closed(resolved.path)
        if reason is not None:
            message = f"{resolved.relative} is closed: {reason}"
            raise ToolError("IGNORED", message, "the user keeps it closed to tools")
        if self._private is None:
            self._private = Inside(self._trees.private)
        if self._private.has(resolved.path):
            raise belongs_to_north(resolved)

    def closed(self, path: Path) -> str | None:
        """Say what closes a real path as `Trees.closed` does."""
        if (reason := self._by_name(path)) is not None:
            return reason
        closings = self._closings
        if closings is None:
            closings = self._closings = self._trees.closings()
        if not any(closing.listed for closing in closings):
            return None
        if self._names is None:
            self._names = Closed(self._trees.rules, _links(closings))
        reason = self._names.why(path)
        if reason is None and (inode := _inode(str(path))) is not None:
            if self._linked is None:
                self._linked = self._trees.linked()
            if inode in self._linked:
                return "it is the same file as one that .northignore names"
            unseen = [folder for closing in closings for folder in closing.unseen]
            if unseen and inode in among_unseen(unseen, {inode}):
                reason = f"it has another name that is, or may be, in {', '.join(unseen[:3])}, which is closed"
        return reason

    def _by_name(self, path: Path) -> str | None:
        """Say why the lists of all roots around a path close it; links in the path are not resolved."""
        rules = self._trees.rules
        around = (root for root in rules if path.is_relative_to(root))
        reasons = (
            rules[root].closing(path.relative_to(root).as_posix(), self._lists.setdefault(root, {})) for root in around
        )
        return next((reason for reason in reasons if reason is not None), None)


def _links(closings: list[Closing]) -> Links:
    spelled = (path for closing in closings for path in closing.named_paths if os.path.islink(path))
    return Links([*(link for closing in closings for link in closing.links), *spelled])


def _inode(path: str) -> tuple[int, int] | None:
    """Return device and inode of a file with several names; None for any other."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    is_linked = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
    return (status.st_dev, status.st_ino) if is_linked else None


def _are_same(one: tuple[Listing, ...], other: tuple[Listing, ...]) -> bool:
    return len(one) == len(other) and all(left is right for left, right in zip(one, other, strict=True))


def _within(root: Path, folders: Iterable[Path]) -> list[Path]:
    return [folder for folder in folders if folder.is_relative_to(root)]


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
