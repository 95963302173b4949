"""A conversation as a document: what was said and done, in order, as it was shown. Pure, apart from the pictures that
it is given."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING

from north_lsp.agent.log.agent_calls import BEGAN
from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.choices import ModelEntry, ServiceTierEntry, ThinkingEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Logged, UnknownEntry
from north_lsp.agent.log.header import Header
from north_lsp.agent.log.images import Find, picture_in
from north_lsp.agent.log.messages import AnswerEntry, Mention, News, OtherMessage, PromptEntry
from north_lsp.agent.log.projection import events_by_entry
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.log.reviews import ReviewEntry
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.agent.ports.events import (
    AnswerDelta,
    CallEnded,
    CallNamed,
    CallProposes,
    CallReady,
    Event,
    ModeChanged,
    ThoughtDelta,
    UserSaid,
)
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Image, ToolSpec
from north_lsp.workspace.edit.diff import unified
from north_lsp.workspace.proposal import FileChange

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry

_SHOWN_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture; `data` is base64, empty if it is not available."""

    mime_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file, or the lines `range` of it, with the text that the model got."""

    path: str
    range: str
    text: str


@dataclass(slots=True)
class Said:
    """A row with a prompt of the user. `context` is what North told the model with it, which people are not shown."""

    id: str
    at: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    pictures: tuple[Picture, ...] = ()
    context: str = ""


@dataclass(slots=True)
class Thought:
    text: str


@dataclass(slots=True)
class Prose:
    """Markdown of an answer."""

    text: str


@dataclass(slots=True)
class Failure:
    """Why there is no complete answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """A file's change as a unified diff."""

    path: str
    new_path: str
    action: str
    diff: str
    lines_added: int
    lines_removed: int


@dataclass(slots=True)
class Call:
    """A tool call or a command of the user's own. `ok` is None as long as there is no result; `changes` were `applied`,
    or only proposed. `review` is the user's decision on it."""

    id: str
    tool: str
    title: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    ok: bool | None = None
    text: str = ""
    result: str = ""
    changes: tuple[Change, ...] = ()
    applied: bool = False
    pictures: tuple[Picture, ...] = ()
    review: str = ""
    comment: str = ""


@dataclass(slots=True)
class Note:
    """A change of what answers or how, or something that has no other form."""

    text: str


@dataclass(slots=True)
class Answered:
    """The end of an answer: who gave it, and what it took."""

    at: str
    model: str
    usage: StoredUsage | None
    seconds: float | None
    stop_reason: str


Row = Said | Thought | Prose | Failure | Call | Note | Answered


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the model is told besides the conversation."""

    system: str
    tools: Sequence[ToolSpec]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch that was left. `after` is what the user had said before it, empty at the beginning."""

    after: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """A conversation to export; `left` are its other branches. `warnings` say what cannot be read of it; `picture`
    finds the data of pictures."""

    title: str
    header: Header
    path: Sequence[Logged]
    left: Sequence[Sequence[Logged]]
    warnings: Sequence[str]
    picture: Find
    surroundings: Surroundings | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A whole conversation. `updated` is when its last entry was written, `left_out` says what is missing in it."""

    id: str
    title: str
    header: Header
    updated: str
    rows: tuple[Row, ...]
    left_out: tuple[str, ...]
    usage: StoredUsage | None
    surroundings: Surroundings | None = None
    branches: tuple[Branch, ...] = ()


def document_of(source: Source, tools: Registry) -> Document:
    """Make the document of a conversation. Reads the files of pictures."""
    made = ((branch, _rows(branch, tools, source.picture)) for branch in source.left)
    known = {one.id: one for one in chain(source.path, *source.left)}
    branches = tuple(Branch(_said_before(branch[0], known), rows) for branch, rows in made if rows)
    updated = next((one.at for one in reversed(source.path) if one.at), source.header.at)
    return Document(
        source.header.id,
        source.title,
        source.header,
        updated,
        _rows(source.path, tools, source.picture),
        tuple(source.warnings),
        _summed(chain(source.path, *source.left)),
        source.surroundings,
        branches,
    )


def _rows(path: Sequence[Logged], tools: Registry, picture: Find) -> tuple[Row, ...]:
    builder = _Builder(picture)
    for logged, events in events_by_entry(path, tools):
        if logged is not None:
            builder.before(logged)
        for event in events:
            builder.show(event, logged)
        if logged is not None:
            builder.after(logged)
    return tuple(builder.rows)


def _said_before(first: Logged, known: dict[str, Logged]) -> str:
    """Return what the user had said last above an entry. Each entry is looked at once, since logs may have cycles."""
    above, left = known.get(first.parent or ""), len(known)
    while above is not None and left > 0:
        if isinstance(above.entry, PromptEntry) and not above.entry.by_north:
            return above.entry.typed
        above, left = known.get(above.parent or ""), left - 1
    return ""


def change_of(change: FileChange) -> Change:
    return Change(
        change.relative,
        change.new_relative or "",
        change.action,
        unified(change),
        change.lines_added,
        change.lines_removed,
    )


class _Builder:
    """Collects the rows of a document."""

    def __init__(self, picture: Find) -> None:
        self.rows: list[Row] = []
        self._picture = picture
        self._calls: dict[str, Call] = {}  # the last one of each id: later answers may reuse them
        self._speaking = ""  # the answer that the last prose belongs to

    def before(self, logged: Logged) -> None:
        match logged.entry:
            case PromptEntry(by_north=True) as nudge:
                self._add(Note(f"North to the model: {nudge.typed or _news(nudge)}"))
            case ModelEntry(model, reason):
                self._add(Note(f"Model: {model}" + (f" ({reason})" if reason else "")))
            case ThinkingEntry(level):
                self._add(Note(f"Thinking: {level}"))
            case ServiceTierEntry(tier):
                self._add(Note(f"Service tier: {tier}"))
            case CheckpointEntry(title=title, files=()):
                self._add(Note(f"Checkpoint: {title}"))
            case CustomMessageEntry(is_shown=False, text=text):
                self._add(Note(f"An extension to the model: {text}"))
            case OtherMessage(role):
                self._add(Note(f"A message of the role {role!r}, which this version does not know"))
            case UnknownEntry() as unknown if unknown.type not in ("", BEGAN):
                self._add(Note(f"An entry of the type {unknown.type!r}, which this version does not know"))
            case _:
                pass

    def show(self, event: Event, logged: Logged | None) -> None:
        match event:
            case UserSaid(id, text):
                entry = logged.entry if logged is not None else None
                at = logged.at if logged is not None else ""
                self._add(self._said(id, at, entry) if isinstance(entry, PromptEntry) else Said(id, at, text))
            case ThoughtDelta(text=text):
                self._add(Thought(text))
            case AnswerDelta(failure=failure) if failure:
                self._add(Failure(failure))
            case AnswerDelta(id, text):
                last = self.rows[-1] if self.rows else None
                if isinstance(last, Prose) and self._speaking == id:
                    last.text += text
                elif text.strip():
                    self._add(Prose(text))
                    self._speaking = id
            case CallNamed(id, tool, _, title):
                self._calls[id] = Call(id, tool, title)
                self._add(self._calls[id])
            case CallReady(id, title, arguments) if id in self._calls:
                self._calls[id].title, self._calls[id].arguments = title, arguments
            case CallProposes(id, _, files) if id in self._calls:
                self._calls[id].changes = tuple(map(change_of, files))
            case CallEnded() if (call := self._calls.get(event.call_id)) is not None:
                call.title, call.ok, call.text = event.title or call.title, event.ok, event.text
                if event.files:
                    call.changes, call.applied = tuple(map(change_of, event.files)), event.ok
            case ModeChanged(mode):
                self._add(Note(f"Mode: {mode}"))
            case _:
                pass

    def after(self, logged: Logged) -> None:
        match logged.entry:
            case ResultEntry(call_id) as result if (call := self._calls.get(call_id)) is not None:
                call.result = result.text
                call.pictures = tuple(self._pictures(result.images))
                call.ok = result.details.ok if call.ok is None else call.ok
            case OwnCommandEntry() as own if (call := self._calls.get(logged.id)) is not None:
                ended = f"(exit code {own.exit_code})" if own.exit_code else ""
                call.result = "\n".join(filter(None, (own.output, own.left_out, ended)))
            case ReviewEntry(call_id=call_id, status=status, decision=decision) if call_id in self._calls:
                self._calls[call_id].review = status
                self._calls[call_id].comment = (decision.comment or "") if decision is not None else ""
            case AnswerEntry() as answer:
                name = "/".join(part for part in (answer.provider, answer.model) if part)
                seconds = answer.duration_ms / 1000 if answer.duration_ms is not None else None
                self._add(Answered(logged.at, name, answer.usage, seconds, answer.stop_reason))
            case _:
                pass

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        self._speaking = ""

    def _said(self, id: str, at: str, prompt: PromptEntry) -> Said:
        mentions = (part for part in prompt.parts if isinstance(part, Mention))
        attached = tuple(Attachment(part.path, part.range or "", part.preview) for part in mentions)
        return Said(id, at, prompt.typed, attached, tuple(self._pictures(prompt.images)), _news(prompt))

    def _pictures(self, images: Iterable[Image]) -> Iterator[Picture]:
        for image in images:
            yield Picture(image.mime_type, self._data(image) if image.mime_type in _SHOWN_TYPES else "")

    def _data(self, image: Image) -> str:
        with suppress(OSError):
            return base64.b64encode(picture_in(image, self._picture) or b"").decode("ascii")
        return ""


def _summed(path: Iterable[Logged]) -> StoredUsage | None:
    used = [one.entry.usage for one in path if isinstance(one.entry, AnswerEntry) and one.entry.usage is not None]
    return sum(used, StoredUsage()) if used else None


def _news(prompt: PromptEntry) -> str:
    return "\n".join(part.text for part in prompt.parts if isinstance(part, News))
