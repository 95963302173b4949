"""Strips what models copy along from a read result: header lines and line numbers that are not part of the file. They
are left out only where it is certain that they are not; elsewhere the model is asked to be explicit."""

from __future__ import annotations

import re
from collections.abc import Collection, Container

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_HEADER = lazy_pattern(r"\[([^\[\]\n]+)#([0-9a-f]{8})\]\r?\n")
_PRINTED = lazy_pattern(r" *(\d+)(?:→|\t|[|:])")
_NUMBERED = lazy_pattern(r"\s*(\d+)(→|:)")
_COLUMN = lazy_pattern(r" {2,}(\d+)(\t)")
_TELLING = 3


@dataclass(frozen=True, slots=True)
class Place:
    """What is known about where a text goes: the file's own text, and the names and tags of what was read."""

    text: str = ""
    read: Container[str] = ()


@dataclass(frozen=True, slots=True)
class _Numbered:
    """A text whose lines all begin with consecutive numbers."""

    sign: str
    numbers: list[int]
    bare: list[str]


def strip_numbers(text: str) -> str | None:
    """Strip line numbers, as any tool prints them, off a text that was not found; None if not all lines have one."""
    lines = text.split("\n")
    marks = [_PRINTED.match(line) for line in lines]
    found = [mark for mark, line in zip(marks, lines, strict=True) if mark is not None or line.strip()]
    numbers = [int(mark[1]) for mark in found if mark is not None]
    if not numbers or len(numbers) != len(found) or not _in_sequence(numbers):
        return None
    return "\n".join(line[mark.end() :] if mark else line for mark, line in zip(marks, lines, strict=True))


def strip_header(text: str) -> str:
    """Strip the first line of a read result off a text that was not found."""
    header = _HEADER.match(text)
    return text[header.end() :] if header else text


def has_number(text: str, numbers: Collection[int]) -> bool:
    """Tell whether a line begins with one of the numbers, as read results print them."""
    marks = map(_PRINTED.match, text.split("\n"))
    return any(mark is not None and int(mark[1]) in numbers for mark in marks)


def numbers_in(text: str) -> range:
    """Return the line numbers that a text was read with, and as many more as it may have grown by."""
    found = [int(mark[1]) for mark in map(_PRINTED.match, text.split("\n")) if mark is not None]
    return range(min(found, default=0), max(found, default=-1) + text.count("\n") + 2)


def without_pasted(text: str, place: Place, otherwise: str) -> tuple[str, bool]:
    """Strip what was copied along off lines to write; return them and whether there was any. Raises ToolError
    INVALID_INPUT where that is not certain; `otherwise` says how to write numbers that are meant."""
    header = _HEADER.match(text)
    body = text[header.end() :] if header else text
    numbered = _numbered(body)
    if numbered is None:
        is_known = header is not None and (header[1] in place.read or header[2] in place.read)
        return (body, True) if is_known else (text, False)
    tail = "\n" if body.endswith("\n") else ""
    bare = "\n".join(numbered.bare) + tail
    alike = _has_alike(place.text, numbered.sign)
    if (header is not None or _stands_there(numbered, place.text)) and not alike:
        return bare, True
    if (alike or _is_spaced(numbered)) and header is None and not _stands_there(numbered, place.text):
        return text, False
    first = body.split("\n", 1)[0].strip()[:40]
    raise ToolError(
        "INVALID_INPUT",
        f"every line begins with a number in sequence ({first!r}), as in a read result, and it is unclear whether "
        "the numbers belong to the text; nothing was written",
        f"send the lines without the numbers; if the numbers are meant, {otherwise}",
    )


def _numbered(text: str) -> _Numbered | None:
    lines = text.removesuffix("\n").split("\n")
    for pattern in (_NUMBERED, _COLUMN):
        marks = [mark for mark in map(pattern.match, lines) if mark is not None]
        if len(marks) != len(lines) or len({mark[2] for mark in marks}) != 1:
            continue
        numbers, sign = [int(mark[1]) for mark in marks], marks[0][2]
        if _in_sequence(numbers) and (sign == "→" or len(lines) > 1):
            return _Numbered(sign, numbers, [line[mark.end() :] for line, mark in zip(lines, marks, strict=True)])
    return None


def _is_spaced(numbered: _Numbered) -> bool:
    """Tell whether lines look like `1: one`: no tool prints that, and no text is indented by one space throughout."""
    return numbered.sign == ":" and all(re.match(r" \S|$", line) for line in numbered.bare)


def _has_alike(text: str, sign: str) -> bool:
    """Tell whether a file has numbered lines of its own."""
    return sign in text and re.search(rf"^\s*\d+{re.escape(sign)}", text, re.MULTILINE) is not None


def _stands_there(numbered: _Numbered, text: str) -> bool:
    """Tell whether one of the lines is in the file at exactly the number that it has."""
    lines = text.split("\n")
    return any(
        len(bare.strip()) >= _TELLING and 0 < number <= len(lines) and lines[number - 1].rstrip("\r") == bare
        for number, bare in zip(numbered.numbers, numbered.bare, strict=True)
    )


def _in_sequence(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
