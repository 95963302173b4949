"""Finds files by a few letters of their names."""

from bisect import bisect_left
from collections.abc import Sequence
from heapq import nsmallest
from typing import Self

from north_lsp.lazy_dataclass import dataclass

Ranked = tuple[int, int, str]
"""What a path is sorted by, the best first, and the path itself."""

_SEPARATORS = str.maketrans("", "", "_-. /")


@dataclass(frozen=True)
class FuzzyIndex:
    """Paths prepared for many queries: case-folded, and by name alone. `limited` says that there are more files than
    these."""

    paths: tuple[str, ...]
    folders: frozenset[str]
    _folded: tuple[str, ...]
    _names: tuple[str, ...]
    _plain: tuple[str, ...]
    _masks: tuple[int, ...]
    limited: bool = False

    @classmethod
    def of(cls, files: Sequence[str], folders: Sequence[str] = (), *, limited: bool = False) -> Self:
        paths = (*files, *folders)
        folded = tuple(path.casefold() for path in paths)
        names = tuple(path.rsplit("/", 1)[-1] for path in folded)
        plain = tuple(name.translate(_SEPARATORS) for name in names)
        return cls(paths, frozenset(folders), folded, names, plain, tuple(map(_mask, folded)), limited)

    def find(self, query: str, limit: int = 10) -> list[str]:
        """Return the best paths: an exact name before a prefix, before a part, before letters in order; shorter ones
        first."""
        return [path for _, _, path in self.ranked(query, limit)]

    def ranked(self, query: str, limit: int = 10) -> list[Ranked]:
        """Return the same as `find`, with what those of several indexes are sorted by."""
        wanted = query.strip().casefold()
        wants_folder = wanted.endswith("/")
        wanted = wanted.rstrip("/")
        if not wanted:
            return nsmallest(limit, ((0, len(path), path) for path in self.paths))
        squeezed = wanted.translate(_SEPARATORS)
        close = [at for at, path in enumerate(self._folded) if wanted in path]
        if squeezed and len(close) < limit:
            close += [at for at, name in enumerate(self._plain) if squeezed in name]
        if len(close) < limit:  # else matches of scattered letters could not make it into the result
            need = _mask(wanted)
            close += [at for at, mask in enumerate(self._masks) if not need & ~mask]
        best: list[Ranked] = []
        for at in dict.fromkeys(close):
            score = _score(wanted, squeezed, self._folded[at], self._names[at], self._plain[at])
            if score:
                path = self.paths[at]
                bonus = 50 if wants_folder and path in self.folders else 0
                entry = (-(score + bonus), len(path), path)
                if len(best) < limit or entry < best[-1]:
                    best.insert(bisect_left(best, entry), entry)
                    del best[limit:]
        return best


def _score(wanted: str, squeezed: str, path: str, name: str, plain: str) -> int:
    if wanted in (name, path):
        return 1000
    if name.startswith(wanted):
        return 800
    if wanted in name:
        at = name.find(wanted)
        return 650 if name[at - 1] in "_-. " else 600
    if wanted in path:
        at = path.find(wanted)
        return 580 if at == 0 or path[at - 1] == "/" else 540
    if squeezed:
        if plain == squeezed:
            return 900
        if plain.startswith(squeezed):
            return 700
        if squeezed in plain:
            return 550
    return _subsequence(wanted, path)


def _subsequence(wanted: str, path: str) -> int:
    """Score letters that occur in order: more for those that begin a part or follow each other; 0 if they do not all
    occur."""
    at, score, previous = -1, 100, -2
    for letter in wanted:
        at = path.find(letter, at + 1)
        if at < 0:
            return 0
        if at == previous + 1:
            score += 3
        if at == 0 or path[at - 1] in "/_-. ":
            score += 5
        previous = at
    return min(score, 500)


def _mask(text: str) -> int:
    """Return which characters occur, as one bit each (several characters share a bit)."""
    mask = 0
    for character in set(text):
        mask |= 1 << (ord(character) & 63)
    return mask
