"""Finds files by a few letters of their names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Self

from north_lsp.lazy_dataclass import dataclass

Ranked = tuple[int, int, str]
"""What a path is sorted by, the best first, and the path itself."""

_MOST_SCATTERED = 1000
_SEPARATORS = str.maketrans("", "", "_-. /")


@dataclass(frozen=True)
class FuzzyIndex:
    """Paths prepared for many queries: case-folded, and by name alone, the shortest first. `limited` says that there
    are more files than these."""

    paths: tuple[str, ...]
    folders: frozenset[str]
    _folded: tuple[str, ...]
    _names: tuple[str, ...]
    _plain: tuple[str, ...]
    _masks: tuple[int, ...]
    limited: bool = False

    @classmethod
    def of(cls, files: Sequence[str], folders: Sequence[str] = (), *, limited: bool = False) -> Self:
        paths = tuple(sorted((*files, *folders), key=lambda path: (len(path), path)))
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
            return [(0, len(path), path) for path in self.paths[:limit]]
        squeezed = wanted.translate(_SEPARATORS)
        need = _mask(squeezed)
        lettered = [at for at, mask in enumerate(self._masks) if mask & need == need]
        close = [at for at in lettered if wanted in self._folded[at]]
        if len(close) >= limit and not wants_folder:
            return self._with_all(wanted, close, limit)
        scores = {at: _score(wanted, self._folded[at], self._names[at]) for at in close}
        if squeezed and len(scores) < limit:
            like = (at for at in lettered if squeezed in self._plain[at] and at not in scores)
            scores |= {at: _squeezed_score(squeezed, self._plain[at]) for at in like}
        if len(scores) < limit:  # else matches of scattered letters could not make it into the result
            scattered = (at for at in self._scattered(wanted, lettered) if at not in scores)
            scores |= {at: _subsequence(wanted, self._folded[at]) for at in scattered}
        best: list[Ranked] = []
        for at, score in scores.items():
            path = self.paths[at]
            bonus = 50 if wants_folder and path in self.folders else 0
            entry = (-(score + bonus), len(path), path)
            if len(best) < limit or entry < best[-1]:
                best.insert(bisect_left(best, entry), entry)
                del best[limit:]
        return best

    def _with_all(self, wanted: str, close: Sequence[int], limit: int) -> list[Ranked]:
        """Return the best of paths that all have what is wanted: class after class, each only as far as it is needed.
        Scoring each of very many would take too long while somebody types."""
        names, paths = self._names, self._folded
        found: dict[int, int] = {}

        def take(score: int, of: Iterable[int]) -> bool:
            found.update((at, score) for at in islice((at for at in of if at not in found), limit - len(found)))
            return len(found) >= limit

        def best() -> list[Ranked]:
            return sorted((-score, len(self.paths[at]), self.paths[at]) for at, score in found.items())

        in_name = [] if "/" in wanted else [at for at in close if wanted in names[at]]
        having, whole = (close, paths) if "/" in wanted else (in_name, names)
        if take(1000, (at for at in having if whole[at] == wanted)):
            return best()
        if take(800, (at for at in in_name if names[at].startswith(wanted))):
            return best()
        for begins in (True, False):
            if take(650 if begins else 600, (at for at in in_name if _begins_in_name(wanted, names[at]) == begins)):
                return best()
        is_in_name = set(in_name)
        for begins in (True, False):
            rest = (at for at in close if at not in is_in_name and _begins_part(wanted, paths[at]) == begins)
            if take(580 if begins else 540, rest):
                return best()
        return best()

    def _scattered(self, wanted: str, lettered: Sequence[int]) -> Iterator[int]:
        """Find paths that have the letters in their order, the shortest first, and not very many."""
        # A letter is taken where it comes first: to give it up again would not help.
        in_order = re.compile("".join(f"[^{re.escape(letter)}]*+{re.escape(letter)}" for letter in wanted)).match
        return islice((at for at in lettered if in_order(self._folded[at])), _MOST_SCATTERED)


def _score(wanted: str, path: str, name: str) -> int:
    """Score a path that has what is wanted."""
    if wanted in (name, path):
        return 1000
    if name.startswith(wanted):
        return 800
    if wanted in name:
        return 650 if _begins_in_name(wanted, name) else 600
    return 580 if _begins_part(wanted, path) else 540


def _squeezed_score(squeezed: str, plain: str) -> int:
    """Score a name that has what is wanted once the signs between its parts are left out."""
    if plain == squeezed:
        return 900
    return 700 if plain.startswith(squeezed) else 550


def _begins_in_name(wanted: str, name: str) -> bool:
    return name[name.find(wanted) - 1] in "_-. "


def _begins_part(wanted: str, path: str) -> bool:
    at = path.find(wanted)
    return at == 0 or path[at - 1] == "/"


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
