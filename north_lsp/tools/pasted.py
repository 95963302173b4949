"""What a model copies along from a read result: header lines and line numbers that are no part of the file."""

import re

_HEADER = re.compile(r"\[[^\[\]\n]+#[0-9a-f]{4,}\]\r?\n")
_PRINTED = re.compile(r" *(\d+)(?:→|\t|[|:])")
_NUMBERED = re.compile(r"\s*(\d+)(→|:)")


def strip_numbers(text: str) -> str | None:
    """A text that was not found, without line numbers as any tool prints them; None if not all lines have some."""
    lines = text.split("\n")
    marks = [_PRINTED.match(line) for line in lines]
    found = [mark for mark, line in zip(marks, lines, strict=True) if mark is not None or line.strip()]
    numbers = [int(mark[1]) for mark in found if mark is not None]
    if not numbers or len(numbers) != len(found) or not _in_sequence(numbers):
        return None
    return "\n".join(line[mark.end() :] if mark else line for mark, line in zip(marks, lines, strict=True))


def strip_pasted(text: str) -> tuple[str, bool]:
    """The text without a `[path#tag]` header and without line numbers, and whether there were any.

    Numbers count only if all lines have them, in sequence; `<n>:` only for two lines or more, since it may be content.
    """
    header = _HEADER.match(text)
    body = text[header.end() :] if header else text
    lines = body.split("\n")
    closing = lines.pop() if lines[-1] == "" and len(lines) > 1 else None
    marks = [_NUMBERED.match(line) for line in lines]
    found = [mark for mark in marks if mark is not None]
    if len(found) != len(lines) or not _in_sequence([int(mark[1]) for mark in found]):
        return body, header is not None
    signs = {mark[2] for mark in found}
    if len(signs) != 1 or (signs == {":"} and len(lines) < 2):
        return body, header is not None
    stripped = [line[mark.end() :] for line, mark in zip(lines, found, strict=True)]
    return "\n".join(stripped if closing is None else [*stripped, closing]), True


def strip_pasted_file(text: str) -> tuple[str, bool]:
    """As `strip_pasted`, for the whole of a new file: `<n>:` is content there, and a single `<n>→` may be."""
    lines = text.rstrip("\n").split("\n", 2)[:2]
    numbered = len(lines) == 2 and all("→" in line for line in lines)
    return strip_pasted(text) if numbered or _HEADER.match(text) else (text, False)


def _in_sequence(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
