"""A proposal as a document that users read, comment on and change before they accept it. Pure functions.

It is a unified diff with room for a comment above it. Users may change `+` lines in any way, switch the other lines
between a leading space and `-`, and remove hunks and files, which rejects them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from north_lsp.display import one_line, visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.diff import sides, unified
from north_lsp.workspace.proposal import EditProposal, FileChange, Hunk
from north_lsp.workspace.text import dominant_newline, split_lines

_FILE, _HUNK, _NOTE = "diff --git ", "@@ ", "#"
_MAX_COMMENT = 4000
_KEEP = "the file's own lines (after a space or -) must not be changed; every new line begins with +"
_HELP = (
    "You can change + lines before you accept. Remove a hunk or a file to reject it.",
    "Lines that you write below without # are sent to the model, whether you accept or reject:",
)

Unit = tuple[Path, str | None]
"""What can be decided on its own: a hunk of a file, or (None) a file that is accepted or rejected as a whole."""


class ReviewProblem(Exception):
    """The document cannot be understood as a change of this proposal."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A line of the document (from 0) that begins a hunk or a file."""

    line: int
    unit: Unit


@dataclass(frozen=True, slots=True)
class Written:
    """The document as the user left it: the comment to the model, the units that are still in it, and the new lines of
    each hunk that was changed."""

    comment: str | None
    left: frozenset[Unit]
    changed: Mapping[Unit, tuple[str, ...]]


def units(change: FileChange) -> list[Unit]:
    """Return what can be decided of a file: its hunks, or the whole file if it is new, deleted or has no hunks."""
    if change.action in ("create", "delete") or not change.hunks:
        return [(change.target, None)]
    return [(change.target, hunk.id) for hunk in change.hunks]


def document(proposal: EditProposal, warnings: Sequence[str]) -> str:
    """Return the document's text, with invisible characters made visible."""
    notes = [f"North: {proposal.summary}", *warnings, *proposal.notices, *_HELP]
    head = "".join(f"{_NOTE} {one_line(note, 2000)}\n" for note in notes)
    return (
        head
        + "\n"
        + "".join(f"{heading}\n{visible(unified(change))}" for heading, change in _headings(proposal).items())
    )


def _headings(proposal: EditProposal) -> dict[str, FileChange]:
    """Return the changes by the line that begins each file in the document; the lines are unique."""
    found: dict[str, FileChange] = {}
    for change in proposal.files:
        line = visible(f"{_FILE}a/{change.relative} b/{change.shown}").replace("\n", " ")
        found[line if line not in found else f"{line} ({len(found) + 1})"] = change
    return found


def marked(proposal: EditProposal, text: str) -> list[Marked]:
    """Return where the units begin in a document that may have been changed."""
    files = _headings(proposal)
    found: list[Marked] = []
    change: FileChange | None = None
    for number, line in enumerate(_lines(text)):
        if line in files:
            change = files[line]
            if units(change)[0][1] is None:
                found.append(Marked(number, units(change)[0]))
        elif change is not None and line.startswith(_HUNK):
            hunk = next((hunk for hunk in change.hunks if hunk.header == line), None)
            if hunk is not None and (change.target, hunk.id) in units(change):
                found.append(Marked(number, (change.target, hunk.id)))
    return found


def read_document(proposal: EditProposal, text: str) -> Written:
    """Read the document as the user left it. Raises ReviewProblem naming the line and what to do."""
    files = _headings(proposal)
    comment: list[str] = []
    left: set[Unit] = set()
    changed: dict[Unit, tuple[str, ...]] = {}
    lines = _lines(text)
    change: FileChange | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith(_FILE):
            if line not in files:
                raise _problem(at, "the line that names a file was changed; restore it")
            change = files[line]
            left.update(unit for unit in units(change) if unit[1] is None)
        elif change is None:
            comment += [] if line.startswith(_NOTE) else [line]
        elif line.startswith(_HUNK):
            hunk = next((hunk for hunk in change.hunks if hunk.header == line), None)
            if hunk is None:
                raise _problem(at, "the first line of a hunk was changed; restore it")
            begin = at
            while at < len(lines) and not lines[at].startswith((_FILE, _HUNK)):
                at += 1
            after = _after(hunk, lines[begin:at], begin, dominant_newline(change.new_text or change.old_text or ""))
            left.update(unit for unit in units(change) if unit[1] in (None, hunk.id))
            if after != sides(hunk.text)[1]:
                if change.action == "delete":
                    raise _problem(at, "a deletion can only be accepted or rejected")
                changed[(change.target, hunk.id)] = tuple(after)
    said = "\n".join(comment).strip()[:_MAX_COMMENT]
    return Written(said or None, frozenset(left), changed)


def text_with(change: FileChange, hunks: Sequence[Hunk], changed: Mapping[Unit, Sequence[str]]) -> str:
    """Return the text of a file with only these hunks applied, as the user changed them."""
    old = split_lines(change.old_text or "")
    out: list[str] = []
    at = 0
    for hunk in sorted(hunks, key=lambda hunk: hunk.old_start):
        start = hunk.old_start - 1 if hunk.old_lines else hunk.old_start
        out += old[at:start]
        unit = (change.target, hunk.id)
        out += changed[unit] if unit in changed else sides(hunk.text)[1]
        at = start + hunk.old_lines
    out += old[at:]
    newline = dominant_newline(change.new_text or change.old_text or "")
    return "".join(line if line.endswith("\n") else line + newline for line in out[:-1]) + "".join(out[-1:])


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def _after(hunk: Hunk, lines: Sequence[str], begin: int, newline: str) -> list[str]:
    """Return the new lines of a hunk, by what the user left of it. Raises ReviewProblem."""
    before, proposed = sides(hunk.text)
    if _trimmed("\n".join(lines)) == _trimmed(visible(hunk.text)):
        return proposed
    known: dict[str, list[str]] = {}
    for line in proposed:
        known.setdefault(_shown(line), []).append(line)
    after: list[str] = []
    is_new = False
    for number, line in enumerate(lines, begin + 1):
        match line[:1]:
            case "+":
                same = known.get(line[1:], [])
                raw = (same.pop(0) if len(same) > 1 else same[0]) if same else line[1:]
                after.append(raw if raw.endswith("\n") else raw + newline)
                is_new = True
            case "\\":
                if is_new:
                    after[-1] = after[-1].removesuffix("\n").removesuffix("\r")
            case " " | "-" | "" if before:
                if _shown(before[0]).rstrip() != line[1:].rstrip():
                    raise _problem(number, _KEEP)
                is_new = False
                stands = before.pop(0)
                after += [stands] if line[:1] != "-" else []
            case "" if not any(lines[number - begin :]):
                break
            case _:
                raise _problem(number, _KEEP)
    if before:
        raise _problem(begin + len(lines), "lines of the file were removed; put - before the lines to delete")
    return after


def _shown(line: str) -> str:
    """Return a line as the document shows it after its sign."""
    return visible(line.removesuffix("\n").removesuffix("\r"))


def _trimmed(body: str) -> str:
    """Remove what editors change on their own: spaces at the ends of lines, and empty lines at the end."""
    return "\n".join(line.rstrip() if line[:1] == " " else line for line in body.split("\n")).rstrip("\n")


def _problem(line: int, words: str) -> ReviewProblem:
    return ReviewProblem(f"line {line} of the review: {words}")
