"""Searches what a model writes for regular expressions from the user's settings, in bounded time, whatever they are."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

_SECONDS = 2.0
_QUICK_STEPS = 2_000_000
_parser: Any = importlib.import_module("re._parser")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_MANY = 20
# Only a process can be stopped in the middle of a search.
_CHILD = "import json, re, sys\npattern, text = json.load(sys.stdin)\nprint(int(re.search(pattern, text) is not None))"


def matches(pattern: str, text: str) -> bool | None:
    """Return whether a pattern is found in a text; None if that took too long. Raises re.error."""
    if _is_quick(pattern, len(text)):
        return re.search(pattern, text) is not None
    re.compile(pattern)
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHILD],
            input=json.dumps([pattern, text]),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return done.stdout.strip() == "1"


def find_matching(patterns: Sequence[str], text: str) -> list[str]:
    """Return why a command asks, one reason for each of the user's patterns that matches it or may match it."""
    found: list[str] = []
    for pattern in patterns:
        match matches(pattern, text):
            case True:
                found.append(f"matches the pattern {pattern!r} from your settings")
            case None:
                found.append(f"may match the pattern {pattern!r} from your settings, which takes too long to check")
            case False:
                pass
    return found


def _is_quick(pattern: str, length: int) -> bool:
    """Return whether a search cannot take long in a text of this length: each repetition may be tried at every
    position."""
    try:
        repeats = _repeats(_parser.parse(pattern), inside=False)
    except (re.error, OverflowError, RecursionError):
        return False
    return repeats is not None and (length + 1) ** (repeats + 1) <= _QUICK_STEPS


def _repeats(items: Any, *, inside: bool) -> int | None:
    """Count the unbounded repetitions; None if one is inside another or holds alternatives, or if the pattern has a
    back-reference."""
    count = 0
    for operation, argument in items:
        name, inner = str(operation), []
        is_many = False
        if name in _REPEATS:
            is_many = argument[1] == _parser.MAXREPEAT or argument[1] > _MANY
            if inside:
                return None
            inner = [argument[2]]
            inside_now = True
        else:
            inside_now = inside
            match name:
                case "BRANCH":
                    if inside:
                        return None
                    inner = list(argument[1])
                case "SUBPATTERN":
                    inner = [argument[3]]
                case "ASSERT" | "ASSERT_NOT":
                    inner = [argument[1]]
                case "ATOMIC_GROUP":
                    inner = [argument]
                case "GROUPREF" | "GROUPREF_EXISTS":
                    return None
                case _:
                    pass
        for one in inner:
            below = _repeats(one, inside=inside_now)
            if below is None:
                return None
            count += below
        count += is_many
    return count
