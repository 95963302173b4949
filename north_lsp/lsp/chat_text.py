"""The text of a chat document: what is unsent, where an answer continues, and what a call looks like. Pure functions.

A document is a row of sections below `## You` and `## North`. What is below the last `## You` is not sent yet; all that
North ever does to the text of a user is to insert something before or behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from north_lsp.agent.ports.events import CallEnded
from north_lsp.display import fenced, one_line, visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.edit.diff import unified

NAME = "chat.md"
YOU, NORTH = "## You", "## North"
EMPTY = f"{YOU}\n\n\n"
"""A section for the user. Of its two empty lines the user writes in the second one: in some editors there is no line
behind the last line end."""
_HEADING = lazy_pattern(r"^## (You|North)[ \t]*$", re.MULTILINE)
_LIKE_A_HEADING = lazy_pattern(r"(?:(?<=\n)|\A)(?=## (?:You|North)[ \t]*(?:\n|\Z))")
_LINK = lazy_pattern(r"\[[^\]\n]*\]\(<?((?:file|https?):[^\s()<>]+)>?\)")
_CALL = lazy_pattern(r"- [✓✗] ")
_MOST_PLACES = 1
_INTRODUCTION = (
    "Write below the last heading, then send it: with the code lens or the code action *North: send*, or with the "
    "command `north.send`. `/help` lists what else can be sent."
)


@dataclass(frozen=True, slots=True)
class Section:
    """What one side said: `start` is where its heading begins, `begin` where that ends, `end` where the next heading
    begins; `line` is the heading's, from 0."""

    speaker: Literal["You", "North"]
    line: int
    start: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Insertion:
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link between two offsets of a text."""

    start: int
    end: int
    target: str


def sections(text: str) -> list[Section]:
    """Return the sections of a document."""
    found = list(_HEADING.finditer(text.replace("\r", " ")))
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        Section("You" if match[1] == "You" else "North", text.count("\n", 0, match.start()), match.start(), begin, end)
        for match, end in zip(found, ends, strict=False)
        for begin in [match.end()]
    ]


def said(text: str, section: Section) -> str:
    """Return what was said in a section."""
    return text[section.begin : section.end].strip()


def prompts(text: str) -> list[Section]:
    """Return the sections of the user, the last of which may be unsent."""
    return [section for section in sections(text) if section.speaker == "You"]


def unsent_section(text: str) -> Section | None:
    """Return the section that is not sent yet; None if the document does not end with one."""
    found = sections(text)
    return found[-1] if found and found[-1].speaker == "You" else None


def unsent(text: str) -> str:
    """Return what was written below the last heading and is not sent yet."""
    last = unsent_section(text)
    return said(text, last) if last is not None else ""


def _end(text: str, section: Section) -> int:
    """Return where the last word of a section ends."""
    return section.begin + len(text[section.begin : section.end].rstrip())


# -- what North inserts ------------------------------------------------------------------------------------------------


def heading_below(text: str) -> Insertion:
    """Open a section for the user at the end of a document that has lost its last one."""
    return Insertion(len(text), f"{_gap(text)}{EMPTY}")


def when_sent(text: str, *, waits: bool) -> Insertion | None:
    """Make what is unsent a prompt: a new section for the user goes below it and, unless it `waits` for another turn,
    one for the answer. None if there is nothing to send."""
    last = unsent_section(text)
    if last is None or not said(text, last):
        return None
    at = _end(text, last)
    answer = "" if waits else f"\n\n{NORTH}"
    return Insertion(at, f"{answer}\n\n{YOU}\n\n" + ("\n" if not text[at:] else ""))


def when_asked(text: str, prompt: str) -> Insertion:
    """Put a prompt that came from elsewhere before what is unsent."""
    last = unsent_section(text)
    asked = f"{YOU}\n\n{without_headings(prompt.strip())}\n\n{NORTH}\n\n"
    if last is None:
        return Insertion(len(text), f"{_gap(text)}{asked}{EMPTY}")
    return Insertion(last.start, ("" if text[: last.start].endswith("\n") else "\n") + asked)


def added_to_unsent(text: str, addition: str) -> Insertion:
    """Add a text to what is unsent."""
    last = unsent_section(text)
    if last is None:
        return Insertion(len(text), f"{_gap(text)}{YOU}\n\n{addition}")
    at = _end(text, last)
    before = "\n\n" if at == last.begin else "\n"
    return Insertion(at, before + addition + ("\n" if not text[at:] else ""))


def when_answered(text: str, number: int, answer: str) -> Insertion | None:
    """Continue the answer to the user's section of a number (from 1); None if that is not in the document any more.
    `answer` begins with the line ends that separate it from what is there."""
    found = sections(text)
    asked = [at for at, section in enumerate(found) if section.speaker == "You"]
    if not 1 <= number <= len(asked):
        return None
    at = asked[number - 1]
    if not said(text, found[at]):
        return None  # this is where the user writes next
    following = found[at + 1 :][:1]
    if following and following[0].speaker == "North":
        return Insertion(_end(text, following[0]), answer)
    behind = _end(text, found[at])
    return Insertion(behind, f"\n\n{NORTH}{answer}" + ("" if text[behind:] else "\n"))


def _gap(text: str) -> str:
    return "" if not text else "\n" if text.endswith("\n") else "\n\n"


def without_headings(text: str) -> str:
    """Return a text in which no line is taken for a heading of the document."""
    return _LIKE_A_HEADING.sub(r"\\", text)


def quoted(text: str) -> str:
    """Return what North says itself as it is written into a document."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


class Answer:
    """What is still to be written of an answer. What may become a heading, or the end of a line, waits for what comes
    next."""

    def __init__(self) -> None:
        self._text = ""
        self._last = ""

    def add_text(self, text: str, message_id: str) -> None:
        kind = f"text {message_id}"
        if self._last != kind:
            if not (text := text.lstrip("\n")):
                return
            self._text = self._text.rstrip("\n") + "\n\n"
        self._text += text
        self._last = kind

    def add_call(self, line: str) -> None:
        self._text = self._text.rstrip() + ("\n" if self._last == "call" else "\n\n") + line
        self._last = "call"

    def add_note(self, text: str) -> None:
        """Add something that North says itself."""
        self._text = f"{self._text.rstrip()}\n\n{quoted(text)}"
        self._last = "note"

    def take(self, *, all: bool = False) -> str:
        """Take what can be written now."""
        ready = self._text.rstrip()
        if not all:
            start = ready.rfind("\n") + 1
            if ready.startswith("#", start):
                ready = ready[:start].rstrip()
        self._text = "" if all else self._text[len(ready) :]
        return without_headings(ready)

    def put_back(self, text: str) -> None:
        """Undo what could not be written."""
        self._text = text + self._text


# -- calls -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A call in the document: its `line`, and what is shown of it where somebody asks."""

    line: str
    details: str


def shown_call(ended: CallEnded, root: Path) -> ShownCall:
    """Return the line of a call, with links to what it looked at or changed, and its result."""
    places = [(location.path, location.line) for location in ended.locations]
    places += [(change.target, change.first_changed_line) for change in ended.files]
    links = [_link(path, line, root) for path, line in dict(places).items()]
    more = f" and {len(links) - _MOST_PLACES} more" if len(links) > _MOST_PLACES else ""
    listed = f" · {', '.join(links[:_MOST_PLACES])}{more}" if links else ""
    parts = [fenced(ended.text, "") if "\n" in ended.text else ended.text] if ended.text else []
    parts += [fenced(visible(unified(change)).rstrip("\n"), "diff") for change in ended.files if change.hunks]
    return ShownCall(
        f"- {'✓' if ended.ok else '✗'} {one_line(ended.title, 200)}{listed}", "\n\n".join(parts) or "no output"
    )


def _link(path: Path, line: int | None, root: Path) -> str:
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    shown = one_line(name, 100).replace("[", "(").replace("]", ")")
    return f"[{shown}{f':{line}' if line else ''}]({path.as_uri()}{f'#L{line}' if line else ''})"


def call_at(text: str, line: int, calls: Sequence[ShownCall]) -> ShownCall | None:
    """Return the call that a line of the document shows: of several that look alike, the one in the same place."""
    lines = text.split("\n")
    if not 0 <= line < len(lines):
        return None
    wanted = lines[line].rstrip()
    alike = [call for call in calls if call.line == wanted]
    before = sum(one.rstrip() == wanted for one in lines[:line])
    return alike[min(before, len(alike) - 1)] if alike else None


# -- what editors make of a document -----------------------------------------------------------------------------------


def links(text: str) -> list[Link]:
    """Return the links of a document."""
    return [Link(match.start(), match.end(), match[1]) for match in _LINK.finditer(text)]


def folds(text: str) -> Iterator[tuple[int, int]]:
    """Return what can be folded, as its first and last line: sections, and calls that follow each other."""
    for section in sections(text):
        last = text.count("\n", 0, _end(text, section))
        if last > section.line:
            yield section.line, last
    first: int | None = None
    for number, line in enumerate([*text.split("\n"), ""]):
        if _CALL.match(line):
            first = number if first is None else first
        else:
            if first is not None and number - first > 1:
                yield first, number - 1
            first = None


def cursor(text: str) -> int:
    """Return the offset at which the user continues writing."""
    last = unsent_section(text)
    if last is None:
        return len(text)
    if not said(text, last):
        ends = [match.end() for match in re.finditer(r"\n", text[last.begin :])][:2]
        return last.begin + (
            ends[-2] if len(ends) == 2 and last.begin + ends[-1] == len(text) else max(ends, default=0)
        )
    at = _end(text, last)
    return at + len(text[at:]) - len(text[at:].lstrip(" \t"))


BEGINNING = f"# North\n\n{_INTRODUCTION}\n\n"
"""The beginning of a document, up to its first section."""
