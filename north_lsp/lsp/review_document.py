"""A proposal as a document that people read, write a word into and change before they accept it. Pure functions.

It is a unified diff with room for a comment above. What may be changed: `+` lines in any way, and a blank or `-` at the
front of the others; hunks and files may be taken out, which rejects them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from north_lsp.display import one_line, visible
from north_lsp.workspace.edit.diff import sides, unified
from north_lsp.workspace.proposal import EditProposal, FileChange, Hunk
from north_lsp.workspace.text import dominant_newline, split_lines

_FILE, _HUNK, _NOTE = "diff --git ", "@@ ", "#"
_MAX_COMMENT = 4000
_KEEP = "what stands in the file (after a blank or -) has to stay as it is; every new line begins with +"
_HELP = (
    "Lines with + may be changed before you accept. Take a hunk or a file out to reject it.",
    "What you write below without # is told to the model, whether you accept or reject:",
)

Unit = tuple[Path, str | None]
"""What can be decided by itself: a hunk of a file, or (None) a file that stands whole or not at all."""


class ReviewProblem(Exception):
    """The document cannot be understood as a change of this proposal."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A line of the document (from 0) that begins a hunk or a file."""

    line: int
    unit: Unit


@dataclass(frozen=True, slots=True)
class Written:
    """What the user made of the document: the word to the model, the units that are still in it, and for each hunk that
    was changed the lines that shall stand there."""

    comment: str | None
    left: frozenset[Unit]
    changed: Mapping[Unit, tuple[str, ...]]


def units(change: FileChange) -> list[Unit]:
    """New and deleted files stand whole or not at all, and so does what has no hunks."""
    if change.action in ("create", "delete") or not change.hunks:
        return [(change.target, None)]
    return [(change.target, hunk.id) for hunk in change.hunks]


def document(proposal: EditProposal, warnings: Sequence[str]) -> str:
    """The text that is shown, with nothing hidden in it."""
    notes = [f"North: {proposal.summary}", *warnings, *proposal.notices, *_HELP]
    head = "".join(f"{_NOTE} {one_line(note, 2000)}\n" for note in notes)
    return (
        head
        + "\n"
        + "".join(f"{heading}\n{visible(unified(change))}" for heading, change in _headings(proposal).items())
    )


def _headings(proposal: EditProposal) -> dict[str, FileChange]:
    """The line that begins each file; no two are alike."""
    found: dict[str, FileChange] = {}
    for change in proposal.files:
        line = visible(f"{_FILE}a/{change.relative} b/{change.shown}").replace("\n", " ")
        found[line if line not in found else f"{line} ({len(found) + 1})"] = change
    return found


def marked(proposal: EditProposal, text: str) -> list[Marked]:
    """Where the units begin, in a document that may have been changed."""
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
    """Raises ReviewProblem naming the line and what to do."""
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
                raise _problem(at, "the line that names a file was changed; put it back as it was")
            change = files[line]
            left.update(unit for unit in units(change) if unit[1] is None)
        elif change is None:
            comment += [] if line.startswith(_NOTE) else [line]
        elif line.startswith(_HUNK):
            hunk = next((hunk for hunk in change.hunks if hunk.header == line), None)
            if hunk is None:
                raise _problem(at, "the first line of a hunk was changed; put it back as it was")
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
    """The text of a file with these hunks, as they were changed."""
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
    """The lines that shall stand in a hunk's place, by what the user left of it. Raises ReviewProblem."""
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
        raise _problem(begin + len(lines), "lines that stand in the file were taken out; put - before those that go")
    return after


def _shown(line: str) -> str:
    """A line as it stands in the document behind its sign."""
    return visible(line.removesuffix("\n").removesuffix("\r"))


def _trimmed(body: str) -> str:
    """Without what editors change by themselves: blanks at the ends of lines, and empty lines at the end."""
    return "\n".join(line.rstrip() if line[:1] == " " else line for line in body.split("\n")).rstrip("\n")


def _problem(line: int, words: str) -> ReviewProblem:
    return ReviewProblem(f"line {line} of the review: {words}")
