"""Finds the matches of one text, line by line or as a whole, within the time that this process may take."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import field

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.search.query import Query

MAX_LINE = 500
_CUT = "..."
_LINES_BETWEEN_CHECKS = 512
_LONG_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Match:
    """A line with a match. `line` and `column` (of the first match in it) are 1-based, the column in characters; `text`
    is the line, cut around the match if it is long; `before` and `after` are the lines around it."""

    path: str
    line: int
    column: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class NeedsChildProcess(Exception):
    """The expression may take long in the texts to search: only a process that can be killed may try it."""


@dataclass
class Found:
    """What was found so far; of the matches, `limit` are kept, from `offset` on."""

    offset: int
    limit: int
    lines: tuple[int, int] | None = None
    matches: list[Match] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    total: int = 0
    searched: int = 0
    unreadable: int = 0
    shortened: list[str] = field(default_factory=list)

    def wants(self) -> bool:
        return self.offset <= self.total < self.offset + self.limit

    def wants_any_of(self, count: int) -> bool:
        return self.total < self.offset + self.limit and self.total + count > self.offset

    def add(self, shown: str, count: int) -> None:
        if count:
            self.counts[shown] = count


def find_in(text: str, shown: str, wanted: Query, context: int, found: Found, over: Callable[[], bool]) -> bool:
    """Add a text's matches to what was found. Returns False if the search must end before the text does."""
    if wanted.multiline:
        return _search_whole(text.replace("\r\n", "\n"), shown, wanted, context, found, over)
    if wanted.literal is not None and not wanted.pattern.search(text):
        return True
    lines = _lines(text)
    first, last = found.lines or (1, len(lines))
    count = 0
    for at in range(first - 1, min(last, len(lines))):
        if at % _LINES_BETWEEN_CHECKS == _LINES_BETWEEN_CHECKS - 1 and over():
            found.add(shown, count)
            return False
        hit = _hit(wanted, lines[at].removesuffix("\r"))
        if hit is None:
            continue
        if found.wants():
            found.matches.append(_match(shown, lines, at, at, hit.start(), hit.end(), context))
        found.total += 1
        count += 1
    found.add(shown, count)
    return True


def _search_whole(text: str, shown: str, wanted: Query, context: int, found: Found, over: Callable[[], bool]) -> bool:
    """Do the same as `find_in`, with matches that may span several lines; those that begin in one line count as one."""
    if wanted.longest is not None and len(text) > wanted.longest:
        raise NeedsChildProcess
    lines = _lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    first, last = found.lines or (1, len(lines))
    count, previous = 0, -1
    for number, hit in enumerate(wanted.pattern.finditer(text)):
        if number % _LINES_BETWEEN_CHECKS == _LINES_BETWEEN_CHECKS - 1 and over():
            found.add(shown, count)
            return False
        at = bisect_right(starts, hit.start()) - 1
        if at == previous or not first <= at + 1 <= last or at >= len(lines):
            continue
        previous = at
        if found.wants():
            end = max(at, min(bisect_right(starts, max(hit.end() - 1, hit.start())) - 1, len(lines) - 1))
            begin = starts[at]
            found.matches.append(_match(shown, lines, at, end, hit.start() - begin, hit.end() - begin, context))
        found.total += 1
        count += 1
    found.add(shown, count)
    return True


def _hit(wanted: Query, line: str) -> re.Match[str] | None:
    if wanted.longest is None:
        return wanted.pattern.search(line)
    if len(line) > wanted.longest:
        folded = bool(wanted.pattern.flags & re.IGNORECASE)
        if line.isascii() and wanted.needed not in (line.lower() if folded else line):
            return None
        raise NeedsChildProcess
    begun = time.perf_counter()
    hit = wanted.pattern.search(line)
    if time.perf_counter() - begun > _LONG_SECONDS:  # there may be more such lines
        raise NeedsChildProcess
    return hit


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _match(shown: str, lines: list[str], at: int, end: int, start: int, stop: int, context: int) -> Match:
    """Make the match that covers the lines `at` to `end`, at the characters `start` to `stop` of them."""
    whole = "\n".join(line.removesuffix("\r") for line in lines[at : end + 1])
    before = tuple(_short(other) for other in lines[max(at - context, 0) : at])
    after = tuple(_short(other) for other in lines[end + 1 : end + 1 + context])
    return Match(shown, at + 1, start + 1, _short(whole, (start, stop)), before, after)


def _short(line: str, around: Sequence[int] = (0, 0)) -> str:
    """Shorten a line to at most `MAX_LINE` characters plus marks, with as much of the match in it as fits."""
    line = line.removesuffix("\r")
    if len(line) <= MAX_LINE:
        return line
    spare = max(MAX_LINE - (around[1] - around[0]), 0)
    start = min(max(around[0] - spare // 2, 0), len(line) - MAX_LINE)
    end = start + MAX_LINE
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"
