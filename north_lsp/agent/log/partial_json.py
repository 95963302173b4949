"""The arguments of a call while they stream: what can be read of a JSON object that is not complete. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from north_lsp.providers.json_values import read_arguments

_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING_END = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_LITERALS: Mapping[str, object] = {"true": True, "false": False, "null": None}
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Partial:
    """`values` by key; those named in `complete` will not change any more. `ended`: the object is closed."""

    values: Mapping[str, object]
    complete: frozenset[str]
    ended: bool = False

    @property
    def settled(self) -> dict[str, object]:
        """The complete values alone; null is none."""
        return {key: value for key, value in self.values.items() if key in self.complete and value is not None}

    @property
    def given(self) -> dict[str, object]:
        """The values so far; null is none."""
        return {key: value for key, value in self.values.items() if value is not None}


_NOTHING = Partial({}, frozenset())


class _Unreadable(Exception):
    """No value begins here, or none can be made of what there is."""


def read_partial(text: str) -> Partial:
    """Open strings, lists and objects are closed, a key or a literal that is not complete is left out. What is no
    object gives nothing."""
    start = _skip(text, 0)
    if not text.startswith("{", start):
        return _NOTHING
    complete: set[str] = set()
    try:
        values, _, ended = _object(text, start, 0, complete)
    except _Unreadable:
        return _NOTHING
    return Partial(values, frozenset(complete), ended)


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found is not None else at


def _object(text: str, at: int, depth: int, complete: set[str] | None = None) -> tuple[dict[str, object], int, bool]:
    values: dict[str, object] = {}
    at = _skip(text, at + 1)
    while at < len(text):
        if text[at] == "}":
            return values, at + 1, True
        if text[at] == ",":
            at = _skip(text, at + 1)
            continue
        if text[at] != '"':
            raise _Unreadable
        key, at, closed = _string(text, at)
        at = _skip(text, at)
        if not closed or at >= len(text):
            break
        if text[at] != ":":
            raise _Unreadable
        at = _skip(text, at + 1)
        if at >= len(text):
            break
        try:
            value, at, whole = _value(text, at, depth + 1)
        except _Unreadable:
            break
        values[key] = value
        at = _skip(text, at)
        if not whole:
            break
        if complete is not None:
            complete.add(key)
    return values, at, False


def _list(text: str, at: int, depth: int) -> tuple[list[object], int, bool]:
    values: list[object] = []
    at = _skip(text, at + 1)
    while at < len(text):
        if text[at] == "]":
            return values, at + 1, True
        if text[at] == ",":
            at = _skip(text, at + 1)
            continue
        try:
            value, at, whole = _value(text, at, depth + 1)
        except _Unreadable:
            break
        values.append(value)
        at = _skip(text, at)
        if not whole:
            break
    return values, at, False


def _value(text: str, at: int, depth: int) -> tuple[object, int, bool]:
    if depth > _DEEPEST:
        raise _Unreadable
    match text[at]:
        case '"':
            return _string(text, at)
        case "{":
            return _object(text, at, depth)
        case "[":
            return _list(text, at, depth)
    for literal, value in _LITERALS.items():
        if text.startswith(literal, at):
            return value, at + len(literal), True
    number = _NUMBER.match(text, at)
    if number is None or number.end() == len(text):  # more digits may follow
        raise _Unreadable
    try:
        return read_arguments(number[0]), number.end(), True
    except ValueError:  # one that nothing means
        raise _Unreadable from None


def _string(text: str, at: int) -> tuple[str, int, bool]:
    found = _STRING_END.match(text, at + 1)
    end = found.end() if found is not None else at + 1
    closed = end < len(text) and text[end] == '"'
    raw = text[at + 1 : end]
    for cut in range(len(raw), max(len(raw) - 6, -1), -1):  # an escape that is not complete is at most 6 characters
        try:
            value = str(json.loads(f'"{raw[:cut]}"', strict=False))
            if not closed and "\ud800" <= value[-1:] <= "\udbff":  # the other half of the character has not come
                value = value[:-1]
            return value, end + 1 if closed else len(text), closed
        except ValueError:
            if closed:
                break
    raise _Unreadable
