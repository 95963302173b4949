"""Works out which files and lines a search has shown as they are, so that they may be edited without being read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.tools.support.texts import text_now
from north_lsp.workspace.pagination import plain_lines

Shown = tuple[Path, str, tuple[tuple[int, int], ...]]
"""A file, the tag of its text, and the ranges of its lines that were shown whole."""


def shown_of(rows: Iterable[tuple[Path, int, str]], texts: Mapping[Path, str]) -> list[Shown]:
    """Work out what was seen from lines that were shown (file, number, text as shown, with marks where it is cut);
    `texts` are those of the editor. Of a line that is cut, only the file counts as seen. A file that has changed since
    it was searched is left out: its current text was not shown. Reads the files, so call it on a thread."""
    by_file: dict[Path, dict[int, str]] = {}
    for path, number, line in rows:
        by_file.setdefault(path, {})[number] = line
    return [found for path, lines in by_file.items() if (found := _shown(path, lines, texts)) is not None]


def _shown(path: Path, lines: Mapping[int, str], texts: Mapping[Path, str]) -> Shown | None:
    try:
        text = text_now(path, texts)
    except ToolError:
        return None
    now = plain_lines(text.text)
    whole: list[int] = []
    for number, line in sorted(lines.items()):
        if number > len(now):
            return None
        if now[number - 1] == line:
            whole.append(number)
        elif line.strip(".") not in now[number - 1]:
            return None
    return path, text.tag, _ranges(whole)


def _ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Join consecutive numbers into ranges; the numbers are sorted."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)
