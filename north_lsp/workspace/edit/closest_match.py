"""Explains why a text was not found: white space that differs, and the closest places, in bounded time."""

from __future__ import annotations

import difflib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.copy_mistakes import find_mistake
from north_lsp.workspace.text import split_lines, to_newlines

MAX_LINES = 20_000
MAX_SECONDS = 0.5

_MAX_NEAR = 3
_MIN_SIMILARITY = 0.6
_MIN_LINE_SIMILARITY = 0.3
_MIN_SHARED_PAIRS = 40  # of a hundred
_MAX_COMPARED_LINES = 30
_MAX_COMPARED_WINDOWS = 16
_MAX_COMMON_PLACES = 50
_MAX_SHOWN_LINES = 20
_MAX_SHOWN_CHARACTERS = 300
_PROBES = 3


@dataclass(frozen=True, slots=True)
class ClosestMatch:
    """A place that resembles the text: its lines (1-based, inclusive), how similar they are (0 to 1), and where they
    begin to differ."""

    startLine: int
    endLine: int
    similarity: float
    text: str
    difference: str


@dataclass(frozen=True, slots=True)
class _Search:
    lines: list[str]
    wanted: list[str]
    late: Callable[[], bool]

    def window(self, start: int) -> list[str]:
        return self.lines[start : start + len(self.wanted)]


def diagnose(text: str, needle: str) -> tuple[str, dict[str, object]]:
    """Return a message that shows the real lines, and the same as data.

    Details: `mistakes` (what is wrong apart from white space), `whitespace` (list of what differs), `near` (at most
    three, each with ClosestMatch's fields), `partial` (lines of the needle that are in the file: `from`, `to`,
    `startLine`, `endLine`; or None).
    """
    lines = [line.removesuffix("\n") for line in split_lines(to_newlines(text, "\n"))]
    wanted = [line.removesuffix("\n") for line in split_lines(to_newlines(needle, "\n"))]
    if len(lines) > MAX_LINES:
        message = (
            f"the text was not found; the file has more than {MAX_LINES} lines, so similar places were not searched for"
        )
        return message, {"mistakes": [], "whitespace": [], "near": [], "partial": None}
    deadline = time.monotonic() + MAX_SECONDS
    search = _Search(lines, wanted, lambda: time.monotonic() > deadline)
    whitespace = _whitespace(search)
    mistake = None if whitespace else find_mistake(to_newlines(text, "\n"), to_newlines(needle, "\n"))
    near = [] if mistake is not None and mistake.lines is not None else _near(search)
    partial = _partial(search)
    parts = ["the text was not found", *whitespace]
    if mistake is not None:
        parts.append(mistake.what)
    if mistake is not None and mistake.lines is not None:
        first, last = mistake.lines
        parts.append(f"you probably mean {_range(first, last)}:\n{_shown(lines, first, last)}")
    parts += [
        f"similar ({one.similarity:.0%}) at {_range(one.startLine, one.endLine)}, {one.difference}:\n{one.text}"
        for one in near
    ]
    if partial is not None and len(parts) == 1 + (mistake is not None):
        first = max(partial["startLine"] - partial["from"] + 1, 1)
        last = min(first + len(wanted) - 1, len(lines))
        parts.append(
            f"only its {_range(partial['from'], partial['to'])} are in the file, as "
            f"{_range(partial['startLine'], partial['endLine'])}; {_range(first, last)} there:\n"
            f"{_shown(lines, first, last)}"
        )
    details = {
        "mistakes": [mistake.what] if mistake is not None else [],
        "whitespace": whitespace,
        "near": [asdict(match) for match in near],
        "partial": partial,
    }
    return "\n".join(parts), details


def _range(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _shown(lines: list[str], first: int, last: int) -> str:
    """Return lines of the file, unchanged except for their length."""
    shown = [line[:_MAX_SHOWN_CHARACTERS] for line in lines[first - 1 : last][:_MAX_SHOWN_LINES]]
    more = last - first + 1 - len(shown)
    return "\n".join([*shown, f"… ({more} more lines)"] if more > 0 else shown)


def _whitespace(search: _Search) -> list[str]:
    """List what differs in the first place that matches except for white space; empty without such a place."""
    squeezed = [" ".join(line.split()) for line in search.wanted]
    first = next((at for at, line in enumerate(squeezed) if line), None)
    if first is None:
        return []
    for at, line in enumerate(search.lines):
        if at % 256 == 0 and search.late():
            return []
        start = at - first
        if start < 0 or squeezed[first] not in " ".join(line.split()):
            continue
        window = search.window(start)
        if len(window) == len(squeezed) and all(
            _contains(here, one) for here, one in zip(window, squeezed, strict=True)
        ):
            found = _white_differences(window, search.wanted)
            if found:
                return [f"{what} ({_range(start + 1, start + len(window))})" for what in found]
    return []


def _contains(line: str, squeezed: str) -> bool:
    here = " ".join(line.split())
    return squeezed in here if squeezed else not here


def _white_differences(window: Sequence[str], wanted: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    last = len(wanted) - 1
    for at, (here, there) in enumerate(zip(window, wanted, strict=True)):
        if here == there:
            continue
        ours, theirs = (line[: len(line) - len(line.lstrip())] for line in (here, there))
        # The text may begin and end within a line, so what surrounds it there is not a difference.
        if ours != theirs and (at or theirs):
            if "\t" in ours and "\t" not in theirs:
                found["the file is indented with tabs, the text is not"] = None
            elif "\t" in theirs and "\t" not in ours:
                found["the text is indented with tabs, the file is not"] = None
            else:
                found["the indentation differs"] = None
        ours, theirs = (line[len(line.rstrip()) :] for line in (here, there))
        if ours != theirs and (at < last or theirs):
            found["trailing spaces differ"] = None
        if any("\xa0" in line or "\u202f" in line for line in (here, there)):
            found["there are non-breaking spaces"] = None
        elif "\r" in here or "\r" in there:
            found["there are carriage returns that are not part of a line end"] = None
        elif here.strip() != there.strip() and here.split() == there.split():
            found["spaces within a line differ"] = None
    return list(found)


def _near(search: _Search) -> list[ClosestMatch]:
    scored: list[tuple[float, int]] = []
    for start in _candidates(search):
        similarity = _similarity(search, start)
        if similarity >= _MIN_SIMILARITY:
            scored.append((similarity, start))
    chosen: list[tuple[float, int]] = []
    for similarity, start in sorted(scored, key=lambda item: (-item[0], item[1])):
        if all(abs(start - other) >= len(search.wanted) for _, other in chosen):
            chosen.append((similarity, start))
    return [_closest_match(search, start, similarity) for similarity, start in chosen[:_MAX_NEAR]]


def _similarity(search: _Search, start: int) -> float:
    """Return how similar a window is, line by line, weighted by length; 0 when time is up."""
    alike = total = 0.0
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    window = search.window(start)
    for offset, line in enumerate(search.wanted[:_MAX_COMPARED_LINES]):
        if search.late():
            return 0.0
        here = _aligned(window[offset], line, search, offset) if offset < len(window) else ""
        weight = max(len(here.strip()), len(line.strip())) + 1
        total += weight
        if here == line:
            alike += weight
            continue
        matcher.set_seqs(here[:_MAX_SHOWN_CHARACTERS], line[:_MAX_SHOWN_CHARACTERS])
        if matcher.quick_ratio() > _MIN_LINE_SIMILARITY:
            alike += weight * matcher.ratio()
    return alike / total


def _aligned(here: str, line: str, search: _Search, offset: int) -> str:
    """Return the part of a file's line that corresponds to a line of the needle: a text may begin and end within a
    line."""
    if offset == 0:
        run = difflib.SequenceMatcher(
            None, here[:_MAX_SHOWN_CHARACTERS], line[:_MAX_SHOWN_CHARACTERS], autojunk=False
        ).find_longest_match()
        here = here[max(run.a - run.b, 0) :]
    if offset == len(search.wanted) - 1:
        here = here[: len(line)]
    return here


def _candidates(search: _Search) -> list[int]:
    """Return the places worth comparing: those that share whole lines with the text, or letters with its longest
    lines."""
    votes: Counter[int] = Counter()
    last = max(len(search.lines) - len(search.wanted), 0)
    places: dict[str, list[int]] = {}
    for at, line in enumerate(search.lines):
        places.setdefault(line.strip(), []).append(at)
    for offset, line in enumerate(search.wanted):
        found = places.get(line.strip(), []) if line.strip() else []
        if len(found) <= _MAX_COMMON_PLACES:
            for at in found:
                votes[min(max(at - offset, 0), last)] += 100
    longest = sorted(range(len(search.wanted)), key=lambda at: -len(search.wanted[at].strip()))[:_PROBES]
    for offset in longest:
        probe = _pairs(search.wanted[offset])
        if not probe or search.late():
            break
        for at, line in enumerate(search.lines):
            if at % 256 == 0 and search.late():
                break
            here = _pairs(line)
            score = round(100 * len(probe & here) / len(probe))
            if score >= _MIN_SHARED_PAIRS:
                votes[min(max(at - offset, 0), last)] += score
    return [start for start, _ in sorted(votes.items(), key=lambda item: (-item[1], item[0]))[:_MAX_COMPARED_WINDOWS]]


def _pairs(line: str) -> frozenset[str]:
    """Return the pairs of adjacent letters in a line."""
    line = line.strip()[:_MAX_SHOWN_CHARACTERS]
    return frozenset(map("".join, pairwise(line)))


def _closest_match(search: _Search, start: int, similarity: float) -> ClosestMatch:
    window = search.window(start)
    shown = _shown(window, 1, len(window))
    difference = _first_difference(search, start)
    return ClosestMatch(start + 1, start + len(window), round(similarity, 3), shown, difference)


def _first_difference(search: _Search, start: int) -> str:
    window = search.window(start)
    for offset, line in enumerate(search.wanted):
        if offset >= len(window):
            return f"which end before line {offset + 1} of the text"
        here = _aligned(window[offset], line, search, offset)
        if here != line:
            pairs = enumerate(zip(here, line, strict=False))
            at = next((at for at, pair in pairs if pair[0] != pair[1]), min(len(here), len(line)))
            have, want = (repr(side[at]) if at < len(side) else "the end of the line" for side in (here, line))
            return f"line {start + offset + 1} differs at position {at + 1}: {have} vs {want}"
    return "which differ only after the text"


def _partial(search: _Search) -> dict[str, int] | None:
    """Find the longest run of the text's lines that is in the file."""
    if len(search.wanted) < 2:
        return None
    matcher = difflib.SequenceMatcher(None, search.lines, search.wanted, autojunk=False)
    if search.late() or len(search.wanted) > 500:
        return None
    run = matcher.find_longest_match()
    if not run.size or not any(line.strip() for line in search.wanted[run.b : run.b + run.size]):
        return None
    return {"from": run.b + 1, "to": run.b + run.size, "startLine": run.a + 1, "endLine": run.a + run.size}
