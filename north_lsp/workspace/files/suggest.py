"""What may have been meant by a path that does not exist."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " "})
_MAX = 5


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Similar paths that exist, the most similar first; `certain` is the one that can only have been meant."""

    paths: tuple[str, ...]
    certain: str | None
    why: str = ""


def suggest(missing: str, files: Sequence[str]) -> Suggestions:
    """`files` are all paths there are, spelled as `missing` is."""
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
        (spelled, "spelled with other characters that look alike"),
        (without_ending, "with its ending"),
        (typo, "one character away"),
    ):
        if len(group) == 1 and certain is None:
            certain, why = group[0], reason
    every = dict.fromkeys([*spelled, *case, *without_ending, *typo, *elsewhere])
    return Suggestions(tuple(every)[:_MAX], certain if len(set(spelled + without_ending + typo)) == 1 else None, why)


def _plain(path: str) -> str:
    return unicodedata.normalize("NFC", path.translate(_QUOTES))


def _one_edit(left: str, right: str) -> bool:
    """Whether one character inserted, left out, exchanged, or swapped with its neighbour makes one of the other."""
    if left == right or abs(len(left) - len(right)) > 1 or min(len(left), len(right)) < 3:
        return False
    shortest = min(len(left), len(right))
    head = next((at for at in range(shortest) if left[at] != right[at]), shortest)
    rest, other = left[head:], right[head:]
    if (rest[:1] + other[:1]).isdigit():  # another number is another file
        return False
    if rest[2:] == other[2:] and rest[:2] == other[:2][::-1]:
        return True
    return rest[1:] == other[1:] or rest[1:] == other or rest == other[1:]
