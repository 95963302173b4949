"""Decodes the strings in a call's arguments while their JSON arrives. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import field

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_TOKEN = lazy_pattern(r'["{}\[\],:]')
_UNITS = lazy_pattern(r'(?:[^"\\]++|\\[^u]|\\u[0-9a-fA-F]{4}|\\u(?=[0-9a-fA-F]{0,3}[^0-9a-fA-F]))*+', re.DOTALL)
_HALF = lazy_pattern(r"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})\Z")  # of a pair whose other half is to come
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the string that stands under a key; `ended` with its last part."""

    key: str
    text: str
    ended: bool


OBJECT_END = Piece("", "", True)
"""Stands for the end of an object: what comes next belongs to another one."""


@dataclass
class ArrivingStrings:
    """Reads JSON in pieces. What is no JSON gives no strings, or wrong ones, but no error."""

    _open: list[str] = field(default_factory=list)  # the containers: "{" or "["
    _key: str = ""
    _is_key: bool = False
    _raw: str | None = None  # what is undecoded of the string that arrives
    _said: list[str] = field(default_factory=list)  # of a key

    def feed(self, more: str) -> Iterator[Piece]:
        """Take more JSON; yields what has arrived of the strings that are values, and each end of an object."""
        at = 0
        while at < len(more):
            at = yield from (self._outside if self._raw is None else self._inside)(more, at)

    def _outside(self, more: str, at: int) -> Generator[Piece, None, int]:
        found = _TOKEN.search(more, at)
        if found is None:
            return len(more)
        match found[0]:
            case '"':
                self._raw = ""
                self._said = []
            case "{" | "[" as opened if len(self._open) < _MAX_DEPTH:
                self._open.append(opened)
                self._is_key = opened == "{"
            case "}" | "]" if self._open:
                if self._open.pop() == "{":
                    yield OBJECT_END
            case ",":
                self._is_key = self._open[-1:] == ["{"]
            case ":":
                self._is_key = False
            case _:
                pass
        return found.end()

    def _inside(self, more: str, at: int) -> Generator[Piece, None, int]:
        raw = (self._raw or "") + more[at:]
        found = _UNITS.match(raw)
        end = found.end() if found is not None else 0
        ended = raw[end : end + 1] == '"'
        if not ended and (half := _HALF.search(raw[:end])) is not None:
            end = half.start(1)
        text = _decoded(raw[:end])
        self._raw = None if ended else raw[end:]
        if self._is_key:
            self._said.append(text)
            if ended:
                self._key = "".join(self._said)
        elif text or ended:
            yield Piece(self._key, text, ended)
        return len(more) - (len(raw) - end - 1) if ended else len(more)


def _decoded(raw: str) -> str:
    if "\\" not in raw:
        return raw
    try:
        text: str = json.loads(f'"{raw}"', strict=False)
    except ValueError:
        return raw
    return text
