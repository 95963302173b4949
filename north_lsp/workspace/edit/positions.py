"""Where LSP's positions lie in a text: lines as LSP ends them, columns in the code units of a position encoding.

Python's own `splitlines` also ends lines at form feeds and Unicode separators, which makes positions wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.language_features import Position, Replacement

_LINE_END = lazy_pattern(r"\r\n|\n|\r")
_UNIT_SIZES = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def lines_of(text: str) -> list[str]:
    """Split a text into lines as LSP counts them, without their ends."""
    return _LINE_END.split(text)


def starts_of(text: str) -> list[int]:
    """Return the offsets at which the lines of a text begin."""
    return [0, *(found.end() for found in _LINE_END.finditer(text))]


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text whose lines all end with a line feed: two programs may hold other line ends."""
    return hashlib.sha256(_LINE_END.sub("\n", text).encode("utf-8", "surrogatepass")).hexdigest()


def units_of(text: str, encoding: str = "utf-16") -> int:
    """Count the code units of a text."""
    codec, size = _UNIT_SIZES[encoding]
    return len(text.encode(codec, "surrogatepass")) // size


def characters_of(line: str, units: int, encoding: str = "utf-16") -> int:
    """Count the characters in the first so many code units of a line."""
    if encoding == "utf-32" or line.isascii():
        return min(max(units, 0), len(line))
    codec, size = _UNIT_SIZES[encoding]
    return len(line.encode(codec, "surrogatepass")[: max(units, 0) * size].decode(codec, "ignore"))


def offset_of(text: str, at: Position, encoding: str = "utf-16") -> int:
    """Return the offset of a position; one after a line's or the text's end means that end. Raises ValueError for a
    negative one."""
    if at.line < 0 or at.character < 0:
        raise ValueError("the position is negative")
    start = 0
    for _ in range(at.line):
        end = _LINE_END.search(text, start)
        if end is None:
            return len(text)
        start = end.end()
    end = _LINE_END.search(text, start)
    line = text[start : end.start() if end is not None else len(text)]
    return start + characters_of(line, at.character, encoding)


def replaced(text: str, replacements: Sequence[Replacement]) -> str:
    """Make all replacements, whose positions are those of the text before; those at one position in their order. Raises
    ValueError for some that overlap or lie outside of it."""
    starts, lines = starts_of(text), lines_of(text)

    def offset(position: Position) -> int:
        if not 0 <= position.line < len(lines):
            raise ValueError(f"line {position.line + 1} is outside of the text")
        return starts[position.line] + characters_of(lines[position.line], position.character)

    made = text
    before = len(text) + 1
    places = [(offset(one.start), offset(one.end), index, one.text) for index, one in enumerate(replacements)]
    for start, end, _, new in sorted(places, reverse=True):
        if not start <= end <= before:
            raise ValueError("the replacements overlap")
        made, before = made[:start] + new + made[end:], start
    return made


def position_of(text: str, offset: int, encoding: str = "utf-16") -> Position:
    """Return the position of an offset, which does not lie between the two characters of a line's end."""
    before = lines_of(text[:offset])
    return Position(len(before) - 1, units_of(before[-1], encoding))
