"""The entries that are messages: prompts, answers, and messages with an unknown role. Each class knows its form in the
file."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from north_lsp.agent.log.blocks import BLOCK_KEYS, block_from_json, block_to_json
from north_lsp.agent.log.fields import (
    BESIDE,
    NOTHING,
    Content,
    Json,
    as_list,
    as_object,
    as_text,
    exclusion,
    given,
    is_excluded,
    text_or_none,
    unknown,
    whole_number,
    without_place,
)
from north_lsp.agent.log.results import IMAGE_KEYS, OwnCommandEntry, ResultEntry, image_from_json, image_to_json
from north_lsp.agent.log.seen import SeenFiles, seen_from_json, seen_to_json
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Block, Image, ToolCall

_PROMPT_KEYS = frozenset({"role", "content", "attribution", "timestamp", "excludeFromContext"})
_ANSWER_KEYS = frozenset(
    {
        "role", "provider", "model", "api", "content", "usage", "stopReason", "durationMs", "timestamp", "errorMessage",
        "excludeFromContext",
    }
)  # fmt: skip
_REQUEST, _DETAILS = "requestId", "details"


@dataclass(frozen=True, slots=True)
class Words:
    """Text that the user typed."""

    text: str


@dataclass(frozen=True, slots=True)
class News:
    """News for the model since its last answer; people are not shown it. `about` names what is told only once: a rule,
    the editor's state."""

    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Mention:
    """An attached file, or the `range` of its lines. `seen` is what the model saw of files through it."""

    path: str
    preview: str
    range: str | None = None
    seen: SeenFiles | None = None


PromptPart = Words | News | Mention | Image
PICTURE = "[picture]"
"""What stands for one where only words can be shown."""
_PROMPT_PART_KEYS = {
    "text": frozenset({"type", "text"}),
    "context": frozenset({"type", "text", "about"}),
    "file_mention": frozenset({"type", "path", "preview", "range", "seen"}),
    "image": IMAGE_KEYS,
}


def _prompt_part(stored: Json) -> PromptPart | None:
    match stored.get("type"):
        case "text":
            return Words(as_text(stored.get("text")))
        case "context":
            return News(as_text(stored.get("text")), as_text(stored.get("about")))
        case "file_mention":
            seen = seen_from_json(stored["seen"]) if "seen" in stored else None
            range = stored.get("range") or None
            return Mention(as_text(stored.get("path")), as_text(stored.get("preview")), text_or_none(range), seen)
        case "image":
            return image_from_json(stored)
        case _:
            return None


def _prompt_part_to_json(part: PromptPart) -> dict[str, Any]:
    match part:
        case Words(text):
            return {"type": "text", "text": text}
        case News(text, about):
            return {"type": "context", "text": text} | ({"about": about} if about else {})
        case Mention(path, preview, range, seen):
            row: dict[str, Any] = {"type": "file_mention", "path": path, "preview": preview}
            row |= {"range": range} if range else {}
            return row | ({"seen": seen_to_json(seen)} if seen is not None else {})
        case Image():
            return image_to_json(part)


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """A prompt: by the user, or by North (`by_north`), which is not shown to people. `from_queue` has the ids of the
    queued prompts that it takes out of the queue."""

    content: Content[PromptPart]
    by_north: bool = False
    at_ms: int | None = None
    from_queue: tuple[str, ...] = ()
    excluded: bool = False
    attribution: str | None = "user"
    more: Json = field(default_factory=dict)
    beside: Json = field(default_factory=dict)

    @property
    def parts(self) -> tuple[PromptPart, ...]:
        return self.content.parts

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.parts if isinstance(part, Image))

    @property
    def typed(self) -> str:
        """The text that the user typed."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Words))

    @classmethod
    def from_json(cls, record: Json) -> PromptEntry:
        message = record["message"]
        return cls(
            Content.from_json(message.get("content"), _prompt_part, _PROMPT_PART_KEYS),
            message.get("attribution") == "north",
            whole_number(message.get("timestamp")),
            tuple(as_text(id) for id in as_list(record.get("fromQueue"))),
            is_excluded(record),
            text_or_none(message.get("attribution")),
            unknown(message, _PROMPT_KEYS),
            unknown(record, BESIDE),
        )

    def to_json(self) -> dict[str, Any]:
        attribution = "north" if self.by_north else self.attribution
        message: dict[str, Any] = {"role": "user", "content": self.content.to_json(_prompt_part_to_json)}
        message |= given(attribution=attribution, timestamp=self.at_ms) | exclusion(self.excluded) | dict(self.more)
        queued = {"fromQueue": list(self.from_queue)} if self.from_queue else {}
        return {"type": "message", "message": message, **queued, **self.beside}


def nudge(text: str, at_ms: int) -> PromptEntry:
    """Make a prompt from North itself to the model, which people are not shown."""
    return PromptEntry(Content((Words(text),)), by_north=True, at_ms=at_ms)


def shown_prompt(prompt: PromptEntry) -> str:
    """Render a prompt as people see it: the text, and the names of what was attached."""
    names = [part.path for part in prompt.parts if isinstance(part, Mention)]
    return "\n\n".join([prompt.typed, *(f"[{name}]" for name in names)]).strip()


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """A model's answer, as far as it arrived. `error` is why it is not complete; `request_id` is that under
    which North's own log tells of the request, and `raw_usage` what the vendor said of the tokens."""

    content: Content[Block]
    provider: str = ""
    model: str = ""
    api: str | None = None
    usage: StoredUsage | None = None
    stop_reason: str = ""
    duration_ms: float | None = None
    at_ms: int | None = None
    error: str | None = None
    excluded: bool = False
    request_id: str = ""
    raw_usage: Json = field(default_factory=dict)
    more: Json = field(default_factory=dict)
    beside: Json = field(default_factory=dict)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.content.parts

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @classmethod
    def from_json(cls, record: Json) -> AnswerEntry:
        message = record["message"]
        duration, request_id = message.get("durationMs"), message.get(_REQUEST)
        request_id, raw_usage = request_id if isinstance(request_id, str) else "", _raw_usage(message.get(_DETAILS))
        known = _ANSWER_KEYS | ({_REQUEST} if request_id else set()) | ({_DETAILS} if raw_usage else set())
        return cls(
            Content.from_json(message.get("content"), block_from_json, BLOCK_KEYS),
            as_text(message.get("provider")),
            as_text(message.get("model")),
            text_or_none(message.get("api")),
            StoredUsage.from_json(message.get("usage")),
            as_text(message.get("stopReason")),
            duration if isinstance(duration, int | float) else None,
            whole_number(message.get("timestamp")),
            as_text(message["errorMessage"]) if message.get("errorMessage") else None,
            is_excluded(record),
            request_id,
            raw_usage,
            unknown(message, known),
            unknown(record, BESIDE),
        )

    def message(self) -> dict[str, Any]:
        stored: dict[str, Any] = {
            "role": "assistant",
            "provider": self.provider,
            "model": self.model,
            "content": self.content.to_json(block_to_json),
            "stopReason": self.stop_reason,
        }
        usage = self.usage.to_json() if self.usage is not None else None
        stored |= given(api=self.api, usage=usage, durationMs=self.duration_ms, timestamp=self.at_ms)
        stored |= given(errorMessage=self.error) | exclusion(self.excluded)
        stored |= {_REQUEST: self.request_id} if self.request_id else {}
        return stored | ({_DETAILS: {"usage": dict(self.raw_usage)}} if self.raw_usage else {}) | dict(self.more)

    def to_json(self) -> dict[str, Any]:
        return {"type": "message", "message": self.message(), **self.beside}


def _raw_usage(details: object) -> Json:
    """Read what the vendor said of the tokens; details with other fields are kept as they are."""
    match details:
        case {"usage": dict(usage), **rest} if not rest:
            return usage
        case _:
            return NOTHING


@dataclass(frozen=True, slots=True)
class OtherMessage:
    """A message with a role that this version does not know."""

    role: str
    record: Json

    @classmethod
    def from_json(cls, record: Json) -> OtherMessage:
        return cls(as_text(as_object(record.get("message")).get("role")), record)

    def to_json(self) -> dict[str, Any]:
        return without_place(self.record)


MessageEntry = PromptEntry | AnswerEntry | ResultEntry | OwnCommandEntry | OtherMessage


def message_from_json(record: Json) -> MessageEntry:
    match as_object(record.get("message")).get("role"):
        case "user":
            return PromptEntry.from_json(record)
        case "assistant":
            return AnswerEntry.from_json(record)
        case "toolResult":
            return ResultEntry.from_json(record)
        case "bashExecution":
            return OwnCommandEntry.from_json(record)
        case _:
            return OtherMessage.from_json(record)
