"""Reads the arguments of a call while they stream: what can be read of an incomplete JSON object. Pure.

`pydantic_core` reads what is there, but does not say which values are complete. Those are complete that it also reads
when the object is closed there: at the end of the text, or else at the last comma between two members. It also takes
the first digits of a number for the whole number, and refuses characters that models write in strings; both are handled
here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)'
_STRINGS = lazy_pattern(_STRING, re.DOTALL)
_TOKENS = lazy_pattern(_STRING + r"|[{}\[\],]", re.DOTALL)
_CUT_NUMBER = lazy_pattern(r"(?<![-+.\w])-?\d[-+.\w]*+\Z")
_PAIR, _HALF = r"\\u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w", r"\\u[dD][89a-fA-F]\w\w"
_REFUSED = lazy_pattern(rf"{_PAIR}|(?P<half>{_HALF})|\\.|(?P<control>[\x00-\x1f])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Partial:
    """The `values` by key; those named in `complete` will not change any more. `ended`: the object is closed."""

    values: Mapping[str, object]
    complete: frozenset[str]
    ended: bool = False

    @property
    def complete_fields(self) -> dict[str, object]:
        """The complete values only, without nulls."""
        return {key: value for key, value in self.values.items() if key in self.complete and value is not None}

    @property
    def given(self) -> dict[str, object]:
        """The values so far, without nulls."""
        return {key: value for key, value in self.values.items() if value is not None}


_NOTHING = Partial({}, frozenset())


def read_partial(text: str) -> Partial:
    """Read an object that may be incomplete: open strings, lists and objects are closed; an incomplete key or literal
    is left out. Anything other than an object yields nothing."""
    text = text.lstrip(" \t\r\n")
    if not text.startswith("{"):
        return _NOTHING
    end, last_comma, in_string = _outline(text)
    if end is not None:
        values = _read(text[:end])
        return _NOTHING if values is None else Partial(values, frozenset(values), ended=True)
    if not in_string:
        text = _CUT_NUMBER.sub("", text)
    values = _read(text, partial=True)
    if values is None:
        return _NOTHING
    complete = None if in_string else _read(text + "}")
    if complete is None and last_comma is not None:
        complete = _read(text[:last_comma] + "}")
    return Partial(values, frozenset(complete or ()))


def _outline(text: str) -> tuple[int | None, int | None, bool]:
    """Return where the object ends, the last comma between its members, and whether the text ends within a string."""
    depth, last_comma, in_string = 0, None, False
    for found in _TOKENS.finditer(text):
        match found[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
                if depth == 0:
                    return found.end(), last_comma, False
            case ",":
                last_comma = found.start() if depth == 1 else last_comma
            case _:
                in_string = not found[1]
    return None, last_comma, in_string


def _read(text: str, *, partial: bool = False) -> dict[str, object] | None:
    with suppress(ValueError):
        return _parse(text, partial)
    with suppress(ValueError):
        return _parse(_STRINGS.sub(_readable, text), partial)
    return None


def _parse(text: str, partial: bool) -> dict[str, object]:
    data = text.encode("utf-8", "replace")
    from pydantic_core import from_json  # heavy, and loaded with the tools before a call can arrive

    value: object = from_json(data, allow_inf_nan=False, allow_partial="trailing-strings" if partial else False)
    assert isinstance(value, dict)  # it starts with a brace
    return value


def _readable(string: re.Match[str]) -> str:
    """Escape control characters, and replace half a surrogate pair by U+FFFD."""
    return _REFUSED.sub(_escape, string[0])


def _escape(found: re.Match[str]) -> str:
    if found["half"]:
        return r"\ufffd"
    return f"\\u{ord(found[0]):04x}" if found["control"] else found[0]
