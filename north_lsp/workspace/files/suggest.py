"""Suggests what a path that does not exist was meant to be.

`rapidfuzz` compares the names: 50,000 in 10 ms, 20 times faster than `difflib`, which would block everything else for
that time. Where a name is compared with a hundred others for a message (settings, models, commands), `difflib` is
enough.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " "})
_DIGITS = lazy_pattern(r"\d+")
_MAX = 5
_LEAST_ALIKE = 0.75


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Similar paths that exist, the most similar first; `certain` is the only one that can have been meant."""

    paths: tuple[str, ...]
    certain: str | None
    why: str = ""


def suggest(missing: str, files: Sequence[str]) -> Suggestions:
    """Suggest paths for one that is missing. `files` are all existing paths, relative to the same folder as
    `missing`."""
    folder, _, name = missing.rpartition("/")
    plain = _plain(missing)
    stem = f"{missing}."
    spelled = [path for path in files if _plain(path) == plain and path != missing]
    without_ending = [path for path in files if path.startswith(stem) and "/" not in path[len(stem) :]]
    case = [path for path in files if path.casefold() == missing.casefold()]
    beside = [path for path in files if path.rpartition("/")[0] == folder]
    typo = [path for path in beside if _one_edit(path.rpartition("/")[2], name)]
    elsewhere = [path for path in files if path.rpartition("/")[2].casefold() == name.casefold()]
    certain, why = None, ""
    for group, reason in (
        (spelled, "written with other characters that look alike"),
        (without_ending, "with its ending"),
        (typo, "one character away"),
    ):
        if len(group) == 1 and certain is None:
            certain, why = group[0], reason
    every = dict.fromkeys([*spelled, *case, *without_ending, *typo, *elsewhere]) or _alike(name, files)
    return Suggestions(tuple(every)[:_MAX], certain if len(set(spelled + without_ending + typo)) == 1 else None, why)


def _plain(path: str) -> str:
    return unicodedata.normalize("NFC", path.translate(_QUOTES))


def _alike(name: str, files: Sequence[str]) -> list[str]:
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    names = [path.rpartition("/")[2].casefold() for path in files]
    alike = OSA.normalized_similarity
    found = process.extract(name.casefold(), names, scorer=alike, score_cutoff=_LEAST_ALIKE, limit=_MAX)
    return [files[at] for _, _, at in found]


def _one_edit(left: str, right: str) -> bool:
    """Return whether one character inserted, omitted, replaced, or swapped with its neighbor turns one into the
    other."""
    if abs(len(left) - len(right)) > 1 or min(len(left), len(right)) < 3:
        return False
    if _DIGITS.sub("", left) == _DIGITS.sub("", right):  # another number is another file
        return False
    from rapidfuzz.distance import OSA  # its import takes 20 ms, so only when needed

    return bool(OSA.distance(left, right, score_cutoff=1) == 1)
