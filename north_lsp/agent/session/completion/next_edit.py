"""What a model is asked about the user's next edit, and which edit its answer stands for. Pure functions on texts."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path

from north_lsp.display import fenced
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.diff import hunks_between
from north_lsp.workspace.edit.editor_result import is_same
from north_lsp.workspace.edit.positions import lines_of, starts_of

_NEAR = 20
_BEFORE, _AFTER = 3000, 1500
_LONGEST_DIFF = 3000
_LONGEST_PART = 8000
_LEAST_ALIKE = 0.5
_CURSOR = "<|cursor|>"
_NOTHING = "NONE"


@dataclass(frozen=True, slots=True)
class RecentEdit:
    """What the user has made of a file's text in one place."""

    path: Path
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class NextEdit:
    """A text in place of another one, which lies between two offsets."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a text that may be edited next, `count` from `first` on, with their offsets in the text."""

    first: int
    count: int
    start: int
    end: int


def part_around(text: str, offset: int) -> Part | None:
    """Return the lines around the cursor, fewer where they are long; None if the cursor's own is too long."""
    lines, starts = lines_of(text), starts_of(text)
    at = sum(start <= offset for start in starts) - 1
    for near in range(_NEAR, -1, -1):
        first, last = max(0, at - near), min(len(lines) - 1, at + near)
        end = starts[last] + len(lines[last])
        if end - starts[first] <= _LONGEST_PART:
            return Part(first, last - first + 1, starts[first], end)
    return None


def question(shown: str, text: str, offset: int, changed: Sequence[tuple[str, RecentEdit]]) -> str | None:
    """Return what a model is told: the changes with their files' names, the oldest first, and the text around the
    cursor of the file `shown`; None if that has lines which are too long to be told."""
    part = part_around(text, offset)
    if part is None:
        return None
    marked = f"{text[part.start : offset]}{_CURSOR}{text[offset : part.end]}"
    diffs = "\n".join(f"{name}:\n{_diff(edit)}" for name, edit in changed)
    return "\n\n".join(
        (
            "What was changed just now:",
            fenced(diffs[-_LONGEST_DIFF:], "diff"),
            f"The file {shown}, before the part:",
            fenced(text[max(0, part.start - _BEFORE) : part.start]),
            "The part:",
            fenced(marked.replace("\r\n", "\n")),
            "After it:",
            fenced(text[part.end : part.end + _AFTER]),
        )
    )


def _diff(edit: RecentEdit) -> str:
    return "".join(hunk.text for hunk in hunks_between(edit.before, edit.after)[0])


def predicted(text: str, offset: int, answer: str, recent: Sequence[RecentEdit]) -> NextEdit | None:
    """Return the edit of an answer that is nearest to the cursor; None if it has none, undoes what the user has done,
    or is no new form of the part."""
    said, part = _lines_of_answer(answer), part_around(text, offset)
    if said is None or part is None:
        return None
    before = lines_of(text[part.start : part.end])
    after = _with_empty_ends_of(before, said)
    compared = SequenceMatcher(None, before, after, autojunk=False)
    runs = [run[1:] for run in compared.get_opcodes() if run[0] != "equal"]
    if not runs or compared.ratio() < _LEAST_ALIKE:
        return None
    starts = [part.start + start for start in starts_of(text[part.start : part.end])]
    at = sum(start <= offset for start in starts) - 1
    first, last, new_first, new_last = min(runs, key=lambda run: max(run[0] - at, at - max(run[0], run[1] - 1)))
    ends = [start + len(line) for start, line in zip(starts, before, strict=True)]
    found = _between(starts, ends, (first, last), after[new_first:new_last])
    found = _least(text, found)
    changed = text[: found.start] + found.text + text[found.end :]
    return None if any(is_same(changed, edit.before) for edit in recent) else found


def _lines_of_answer(answer: str) -> list[str] | None:
    text = answer.replace("\r\n", "\n").strip("\n")
    lines = text.split("\n")
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    if "\n".join(lines).strip() in ("", _NOTHING):
        return None
    return [line.replace(_CURSOR, "") for line in lines]


def _with_empty_ends_of(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return lines with the empty ones that others begin and end with, which models leave out or add."""
    head = len(list(takewhile(lambda line: not line, before)))
    tail = len(list(takewhile(lambda line: not line, reversed(before[head:]))))
    return [*before[:head], *"\n".join(after).strip("\n").split("\n"), *before[len(before) - tail :]]


def _between(starts: Sequence[int], ends: Sequence[int], lines: tuple[int, int], new: Sequence[str]) -> NextEdit:
    """Return the edit that puts new lines in place of others, whose numbers are those of the part."""
    first, last = lines
    made = "\n".join(new)
    if first == last:  # only new lines
        return (
            NextEdit(ends[first - 1], ends[first - 1], f"\n{made}")
            if first
            else NextEdit(starts[0], starts[0], f"{made}\n")
        )
    if new:
        return NextEdit(starts[first], ends[last - 1], made)
    if last < len(starts):
        return NextEdit(starts[first], starts[last], "")
    return NextEdit(ends[first - 1] if first else starts[0], ends[last - 1], "")


def _least(text: str, edit: NextEdit) -> NextEdit:
    """Trim the text that an edit leaves unchanged at its beginning and end."""
    old, new = text[edit.start : edit.end], edit.text
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return NextEdit(edit.start + head, edit.end - tail, new[head : len(new) - tail])
