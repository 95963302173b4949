"""Estimates how long matching a regular expression may take, from the expression itself.

Python's engine tries one way after another and blocks the whole process meanwhile. So expressions from models and users
are matched here only in texts where they definitely end soon; longer texts need a process that can be killed.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_parser: Any = importlib.import_module("re._parser")

_FOLDING = lazy_pattern(r"\(\?[a-zA-Z]*i")
_SINGLE = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_MOST_STEPS = math.log(2e7)  # some tenths of a second at most
_ANY_LENGTH = 5_000_000  # more than is searched of any file
# Sets of characters are numbers: a bit for each ASCII character, one for other letters and digits, one for the rest.
_FAR_WORD, _FAR_OTHER = 1 << 128, 1 << 129
_FAR = _FAR_WORD | _FAR_OTHER
_ALL = (1 << 130) - 1
_WORD = sum(1 << code for code in range(128) if chr(code).isalnum() or chr(code) == "_")
_DIGIT = sum(1 << code for code in range(0x30, 0x3A))
_SPACE = sum(1 << code for code in (*range(0x09, 0x0E), *range(0x1C, 0x21)))
_CATEGORIES = {
    "WORD": _WORD | _FAR_WORD,
    "NOT_WORD": _ALL & ~(_WORD | _FAR_WORD),
    "DIGIT": _DIGIT | _FAR_WORD,
    "NOT_DIGIT": _ALL & ~_DIGIT,
    "SPACE": _SPACE | _FAR_OTHER,
    "NOT_SPACE": _ALL & ~_SPACE,
}


@dataclass(frozen=True, slots=True)
class _Effort:
    """Logarithms of the `ways` in which a part may match from one place, and of the `steps` to try them all."""

    ways: float = 0.0
    steps: float = 0.0


@lru_cache(maxsize=256)
def longest_text(expression: str, flags: int = 0) -> int | None:
    """Return the number of characters up to which a search definitely ends soon; None if it does for any text.

    0 if that cannot be determined. The expression must be one that compiles.
    """
    try:
        items = _without_end(list(_parser.parse(expression, flags)))
        folded = bool(flags & re.IGNORECASE) or _FOLDING.search(expression) is not None

        def fits(length: int) -> bool:
            return math.log(length + 1) + _sequence(items, 0, length, folded).steps <= _MOST_STEPS

        low, high = 0, _ANY_LENGTH
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        return low if low < _ANY_LENGTH else None
    except (re.error, OverflowError, RecursionError):
        return 0


@lru_cache(maxsize=256)
def needed_text(expression: str, flags: int = 0) -> str:
    """Return a text that is in whatever the expression matches, in lower case if case is ignored; it may be empty. If
    case is ignored, it applies only to ASCII."""
    try:
        parsed = _parser.parse(expression, flags)
    except (re.error, OverflowError, RecursionError):
        return ""
    runs = [""]
    for operation, argument in parsed:
        runs = [*runs[:-1], runs[-1] + chr(argument)] if str(operation) == "LITERAL" else [*runs, ""]
    return max((run.lower() if parsed.state.flags & re.IGNORECASE else run for run in runs), key=len)


def _without_end(items: list[Any]) -> list[Any]:
    """Return the items without a repetition of single characters at the end: once it can begin, the search has
    ended."""
    if not items:
        return items
    operation, argument = items[-1]
    if str(operation) in ("MAX_REPEAT", "MIN_REPEAT") and argument[0] <= 1:
        inner = list(argument[2])
        if len(inner) == 1 and str(inner[0][0]) in _SINGLE:
            return [*items[:-1], *(inner if argument[0] else ())]
    return items


def _sequence(items: Iterable[Any], after: int, length: int, folded: bool) -> _Effort:
    """Estimate the effort for a sequence. `after` are the characters with which what follows may begin."""
    every = list(items)
    ways = steps = 0.0
    for at, (operation, argument) in enumerate(every):
        follows = _beginning(every[at + 1 :], after, folded)
        one = _item(str(operation), argument, follows, length, folded)
        steps = _plus(steps, ways + one.steps)
        ways += one.ways
    return _Effort(ways, steps)


def _item(operation: str, argument: Any, after: int, length: int, folded: bool) -> _Effort:
    match operation:
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            low, high, inner = argument
            most = min(int(high), length)
            begins = _beginning(inner, 0, folded)
            one = _sequence(inner, begins | after, length, folded)
            if one.ways:
                every = most * one.ways + math.log(most + 1)
                return _Effort(every, every + one.steps)
            clear = not begins & after and not _may_be_empty(inner)
            ways = 0.0 if clear or most <= int(low) else math.log(most - int(low) + 1)
            return _Effort(ways, math.log(most + 1) + one.steps)
        case "BRANCH":
            branches = [_sequence(branch, after, length, folded) for branch in argument[1]]
            firsts = [_beginning(branch, after, folded) for branch in argument[1]]
            clear = sum(firsts) == _union(firsts)
            ways = max(one.ways for one in branches) if clear else _sum(one.ways for one in branches)
            return _Effort(ways, _sum(one.steps for one in branches))
        case "SUBPATTERN":
            return _sequence(argument[3], after, length, folded)
        case "ATOMIC_GROUP":
            return _sequence(argument, after, length, folded)
        case "ASSERT" | "ASSERT_NOT":
            return _sequence(argument[1], _ALL, length, folded)
        case "GROUPREF":
            return _Effort(0.0, math.log(length + 1))
        case "GROUPREF_EXISTS":
            branches = [_sequence(branch or (), after, length, folded) for branch in argument[1:]]
            return _Effort(_sum(one.ways for one in branches), _sum(one.steps for one in branches))
        case _:
            return _Effort()


def _beginning(items: Iterable[Any], after: int, folded: bool) -> int:
    """Return the characters with which a sequence may begin, if `after` follows it."""
    found = 0
    for operation, argument in items:
        found |= _first(str(operation), argument, folded)
        if not _is_optional(str(operation), argument):
            return found
    return found | after


def _first(operation: str, argument: Any, folded: bool) -> int:
    match operation:
        case "LITERAL":
            return _folded(_bit(argument), folded)
        case "NOT_LITERAL":
            return _ALL  # except for one, which does not matter
        case "ANY":
            return _ALL & ~_bit(0x0A) if not folded else _ALL
        case "IN":
            return _members(argument, folded)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return _beginning(argument[2], 0, folded)
        case "BRANCH":
            return _union(_beginning(branch, 0, folded) for branch in argument[1])
        case "SUBPATTERN":
            return _beginning(argument[3], 0, folded)
        case "ATOMIC_GROUP":
            return _beginning(argument, 0, folded)
        case "AT" | "ASSERT" | "ASSERT_NOT":
            return 0
        case _:
            return _ALL


def _members(members: Any, folded: bool) -> int:
    negated, found = False, 0
    for operation, argument in members:
        match str(operation):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found |= _bit(argument)
            case "RANGE":
                found |= _union(_bit(code) for code in range(argument[0], min(argument[1], 127) + 1))
                found |= _FAR if argument[1] >= 128 else 0
            case "CATEGORY":
                name = str(argument).removeprefix("CATEGORY_").removeprefix("UNI_").removeprefix("LOC_")
                found |= _CATEGORIES.get(name, _ALL)
            case _:
                return _ALL
    found = _folded(found, folded)
    return (_ALL & ~found) | _FAR if negated else found


def _is_optional(operation: str, argument: Any) -> bool:
    match operation:
        case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
            return False
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return int(argument[0]) == 0 or _may_be_empty(argument[2])
        case "BRANCH":
            return any(_may_be_empty(branch) for branch in argument[1])
        case "SUBPATTERN":
            return _may_be_empty(argument[3])
        case "ATOMIC_GROUP":
            return _may_be_empty(argument)
        case _:
            return True


def _may_be_empty(items: Iterable[Any]) -> bool:
    return all(_is_optional(str(operation), argument) for operation, argument in items)


def _bit(code: int) -> int:
    if code < 128:
        return 1 << code
    return _FAR_WORD if chr(code).isalnum() else _FAR_OTHER


def _folded(mask: int, folded: bool) -> int:
    if not folded:
        return mask
    letters = [code for code in range(128) if mask >> code & 1 and chr(code).isalpha()]
    both = _union(_bit(ord(chr(code).swapcase())) for code in letters)
    alike = _union(_bit(ord(letter)) for letter in "kKsSiI")  # which case folding relates to letters beyond ASCII
    return mask | both | (_FAR_WORD if (mask | both) & alike else 0) | (alike if mask & _FAR_WORD else 0)


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


def _plus(one: float, other: float) -> float:
    """Return the logarithm of the sum."""
    high, low = max(one, other), min(one, other)
    return high if high == math.inf else high + math.log1p(math.exp(low - high))


def _sum(values: Iterable[float]) -> float:
    first, *rest = list(values)
    for value in rest:
        first = _plus(first, value)
    return first
