"""What is shown of a change that is still being written: the changed place, in a bounded size. Pure."""

from __future__ import annotations

from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.text import split_lines

_CONTEXT = 3
_MAX_LINES = 200
_MAX_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class Preview:
    """A place of a file: its lines from `line` on (1-based) as they are (None: there is no file) and as they are going
    to be, as far as is known. It may be cut: of a long text, the last lines are shown."""

    path: Path
    line: int
    old: str | None
    new: str


def preview(path: Path, old: str | None, new: str, *, is_growing: bool = False) -> Preview:
    """Return the place where two texts differ. `is_growing`: `new` is the whole text but not complete yet, so what it
    has not reached is not shown as removed."""
    before, after = split_lines(old or ""), split_lines(new)
    if is_growing:
        before = before[: len(after)]
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1]) if not is_growing else 0
    start = max(0, head - _CONTEXT)
    ends = [min(len(side), len(side) - tail + _CONTEXT) for side in (before, after)]
    shown_before, shown_after = before[start : ends[0]], after[start : ends[1]]
    cut = _last(shown_after)
    line = start + 1
    if len(cut) < len(shown_after):
        line += len(shown_after) - len(cut)
        shown_before = shown_before[len(shown_after) - len(cut) :]
    text = "".join(cut)[-_MAX_CHARACTERS:]
    was = "".join(shown_before[:_MAX_LINES])[:_MAX_CHARACTERS]
    return Preview(path, line, None if old is None else was, text)


def _alike(before: list[str], after: list[str]) -> int:
    """Count how many lines two lists have in common at their beginning."""
    least = min(len(before), len(after))
    return next((at for at in range(least) if before[at] != after[at]), least)


def _last(lines: list[str]) -> list[str]:
    """Return the last lines that fit the limits."""
    size = 0
    for count, line in enumerate(reversed(lines[-_MAX_LINES:])):
        size += len(line)
        if size > _MAX_CHARACTERS and count:
            return lines[len(lines) - count :]
    return lines[-_MAX_LINES:]
