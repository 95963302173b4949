"""Finds the names by which a file is known: its own, and those it has through links to it or to a folder around it.

What the user's list says of any of these names applies to the file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from north_lsp import systems
from north_lsp.workspace.files.ignore import IgnoreChains, IgnoreRules, join, slashed
from north_lsp.workspace.opening import open_folder

_MAX_NAMES = 2000
_MAX_LINKS = 8
_MAX_UNSEEN = 500_000
TOO_MANY = "there are more links to it than can be followed, so it is unknown whether .northignore closes it"


class TooManyNames(Exception):
    """Links lead to each other in so many ways that not every name can be checked."""


class Links:
    """The links of a workspace and where they lead now."""

    def __init__(self, links: Iterable[str]) -> None:
        self._to: dict[str, list[str]] = {}
        for link in dict.fromkeys(links):
            target = slashed(os.path.realpath(link))  # even if nothing is there yet: what is put there has this name
            self._to.setdefault(target, []).append(link)
        self.state = frozenset((target, *links) for target, links in self._to.items())

    @property
    def targets(self) -> Iterable[str]:
        return self._to

    def names_of(self, path: str) -> Iterator[str]:
        """Yield the other names of a real path, all absolute. Raises TooManyNames."""
        if not self._to:
            return
        for count, name in enumerate(self._names(path, frozenset())):
            if count == _MAX_NAMES:
                raise TooManyNames
            yield name

    def around_themselves(self) -> frozenset[str]:
        """Return the links to folders that contain them. Closing such a link does not close the folder."""
        return frozenset(link for target, links in self._to.items() for link in links if _is_around(target, link))

    def _names(self, path: str, used: frozenset[str]) -> Iterator[str]:
        around = path
        while True:
            for link in self._to.get(around, ()):
                if link not in used:
                    if len(used) == _MAX_LINKS:
                        raise TooManyNames
                    rest = path[len(around.rstrip("/")) :]
                    yield link + rest
                    folder, name = os.path.split(link)
                    for other in self._names(folder, used | {link}):
                        yield join(other, name) + rest
            if (above := os.path.dirname(around)) == around:
                return
            around = above


class Closed:
    """What the lists of all roots say of names, with links in the names not resolved."""

    def __init__(self, rules: Mapping[Path, IgnoreRules], links: Links) -> None:
        self._rules = rules
        self._links = links
        self._around = links.around_themselves()
        self._chains: dict[tuple[Path, str], IgnoreChains | bool] = {}

    def why(self, path: Path) -> str | None:
        """Return why one of its other names closes a real path; None if none does."""
        try:
            for name in self._links.names_of(path.as_posix()):
                if (reason := self._of_name(name)) is not None:
                    return reason
        except TooManyNames:
            return TOO_MANY
        return None

    def _of_name(self, name: str) -> str | None:
        for root, rules in self._rules.items():
            if not _is_around(root.as_posix(), name):
                continue
            reason = rules.closing(slashed(os.path.relpath(name, root)))
            if reason is not None and not self._is_closed_around(root, name):
                return f"{reason} ({slashed(os.path.relpath(name, root))} points there)"
        return None

    def _is_closed_around(self, root: Path, name: str) -> bool:
        """Return whether a name is closed only where a link in it leads to a folder that contains the link."""
        if not self._around:
            return False
        place = root.as_posix()
        for part in slashed(os.path.relpath(name, root)).split("/"):
            place = join(place, part)
            if self._rules[root].closed(slashed(os.path.relpath(place, root))):
                return _own_place(place) in self._around
        return False

    def among(
        self, own: Path | None, folder: str, chains: IgnoreChains, names: Sequence[str], folders: Sequence[str]
    ) -> set[str] | None:
        """Return the entries of a real folder that are closed by other names of theirs, or by roots other than `own`;
        None if the folder itself is closed, or if this is unknown. `chains` are the lists of its own root that apply to
        the folder."""
        found = set[str]()
        try:
            for other in (folder, *self._links.names_of(folder)):
                for root in self._rules:
                    if not _is_around(root.as_posix(), other) or (other == folder and root == own):
                        continue
                    speaking = self._speaking(root, other)
                    if speaking is True:
                        return None
                    if speaking is False or _is_same(speaking, chains):
                        continue
                    found.update(speaking.closed_of(other, names, folders))
        except TooManyNames:
            return None
        return found

    def _speaking(self, root: Path, folder: str) -> IgnoreChains | bool:
        """Return the lists that apply to the entries of a folder under one of its names; True if that name is closed,
        False if it is closed only by a link to a folder that contains the link."""
        if folder == root.as_posix():
            return self._rules[root].at_root()
        known = self._chains.get((root, folder))
        if known is None:
            above, name = os.path.split(folder)
            known = self._speaking(root, above)
            if not isinstance(known, bool):
                if known.closes(above, name, True) or (os.path.islink(folder) and known.closes(above, name, False)):
                    known = _own_place(folder) not in self._around
                else:
                    known = self._rules[root].enter(known, folder)
            self._chains[root, folder] = known
        return known


def hard_links(files: Iterable[str]) -> dict[tuple[int, int], str]:
    """Return those of the files that have other names elsewhere, by device and inode, which all their names share."""
    found: dict[tuple[int, int], str] = {}
    for path in files:
        try:
            status = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            found[status.st_dev, status.st_ino] = path
    return found


def among_unseen(folders: Iterable[str], wanted: Iterable[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Return which of these files have a name in folders that the tree does not look through, at any depth; all of them
    if that is unknown."""
    looked_for = frozenset(wanted)
    if not looked_for:
        return looked_for
    numbers, found = {number for _, number in looked_for}, set[int]()
    waiting, seen = list(folders), 0
    while waiting:
        folder = waiting.pop()
        try:
            with open_folder(folder) as descriptor, systems.scan(descriptor) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(join(folder, entry.name))
                    elif entry.inode() in numbers:
                        found.add(entry.inode())
        except FileNotFoundError:
            continue
        except OSError:
            return looked_for
        if seen > _MAX_UNSEEN:
            return looked_for
    # By inode alone: a folder may be on another device, and then one file too many is closed.
    return frozenset(one for one in looked_for if one[1] in found)


def _own_place(name: str) -> str:
    """Return the path of a link without links on the way to it."""
    folder, last = os.path.split(name)
    return join(slashed(os.path.realpath(folder)), last)


def _is_around(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _is_same(one: IgnoreChains, other: IgnoreChains) -> bool:
    """Return whether two folders have the same lists, and these apply to names wherever they are."""
    files = one.exact.files
    return files == other.exact.files and all(file.names_only for _, file in files)
