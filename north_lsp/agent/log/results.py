"""The entries that record the results of calls and of the user's own commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, get_args

from north_lsp.agent.log.fields import (
    BESIDE,
    FIXED,
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
)
from north_lsp.agent.log.seen import SeenFiles, seen_from_json, seen_to_json
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Image, Text
from north_lsp.vocabulary import Kind, Location

AGENT_CALL = "north.agentCall"
_RESULT_KEYS = frozenset(
    {"role", "toolCallId", "toolName", "content", "details", "isError", "timestamp", "excludeFromContext"}
)
_DETAIL_KEYS = frozenset({"title", "text", "ok", "changed", "refused", "seen", "locations", "meta"})
_COMMAND_KEYS = frozenset(
    {
        "role", "command", "cwd", "output", "exitCode", "cancelled", "truncated", "totalLines", "artifactId",
        "excludeFromContext", "timestamp", "calledBy",
    }
)  # fmt: skip
IMAGE_KEYS = frozenset({"type", "mimeType", "data", "width", "height"})
_RESULT_PART_KEYS = {"text": frozenset({"type", "text"}), "image": IMAGE_KEYS}


@dataclass(frozen=True, slots=True)
class ResultDetails:
    """The details of a result that people are shown. `refused`: a file in an answer's text that was not written, whose
    text was shown instead; `changed`: the call's proposal is in a review before it. `of_tool` has the tool's own
    fields."""

    title: str = ""
    text: str = ""
    ok: bool = True
    changed: bool = False
    refused: bool = False
    locations: tuple[Location, ...] = ()
    truncation: Json | None = None
    seen: SeenFiles = ()
    of_tool: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, stored: object, tool: str, *, is_error: bool) -> ResultDetails:
        details = as_object(stored)
        missing = as_object(details.get("meta")).get("truncation")
        more = dict(unknown(details, _DETAIL_KEYS))
        if isinstance(details.get("meta"), Mapping) and details["meta"].keys() - {"truncation"}:
            more["meta"] = {key: value for key, value in details["meta"].items() if key != "truncation"}
        return cls(
            as_text(details.get("title") or tool),
            as_text(details.get("text")),
            bool(details.get("ok", not is_error)),
            bool(details.get("changed")),
            bool(details.get("refused")),
            tuple(_places(details.get("locations"))),
            missing if isinstance(missing, Mapping) else None,
            seen_from_json(details.get("seen")),
            more,
        )

    def to_json(self) -> dict[str, Any]:
        stored: dict[str, Any] = {"title": self.title, "text": self.text, "ok": self.ok} | dict(self.of_tool)
        stored |= ({"changed": True} if self.changed else {}) | ({"refused": True} if self.refused else {})
        if self.truncation is not None:
            stored["meta"] = dict(as_object(self.of_tool.get("meta"))) | {"truncation": dict(self.truncation)}
        if self.seen:
            stored["seen"] = seen_to_json(self.seen)
        if self.locations:
            stored["locations"] = [[str(place.path), place.line] for place in self.locations]
        return stored


def _places(stored: object) -> list[Location]:
    found: list[Location] = []
    for place in as_list(stored):
        match place:
            case [str(path), None | int() as line]:
                found.append(Location(Path(path), line))
    return found


@dataclass(frozen=True, slots=True)
class ResultEntry:
    """The result of a call: text and pictures for the model, details for people."""

    call_id: str
    tool: str
    content: Content[Text | Image]
    details: ResultDetails
    is_error: bool = False
    at_ms: int | None = None
    excluded: bool = False
    more: Json = field(default_factory=dict)
    beside: Json = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content.parts if isinstance(part, Text))

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.content.parts if isinstance(part, Image))

    @classmethod
    def from_json(cls, record: Json) -> ResultEntry:
        message = record["message"]
        tool, is_error = as_text(message.get("toolName")), bool(message.get("isError"))
        return cls(
            as_text(message.get("toolCallId")),
            tool,
            Content.from_json(message.get("content"), _result_part, _RESULT_PART_KEYS),
            ResultDetails.from_json(message.get("details"), tool, is_error=is_error),
            is_error,
            whole_number(message.get("timestamp")),
            is_excluded(record),
            unknown(message, _RESULT_KEYS),
            unknown(record, BESIDE),
        )

    def to_json(self) -> dict[str, Any]:
        message = {
            "role": "toolResult",
            "toolCallId": self.call_id,
            "toolName": self.tool,
            "content": self.content.to_json(_result_part_to_json),
            "details": self.details.to_json(),
            "isError": self.is_error,
        }
        message |= given(timestamp=self.at_ms) | exclusion(self.excluded) | dict(self.more)
        return {"type": "message", "message": message, **self.beside}


def _result_part(stored: Json) -> Text | Image | None:
    match stored.get("type"):
        case "text":
            return Text(as_text(stored.get("text")))
        case "image":
            return image_from_json(stored)
        case _:
            return None


def _result_part_to_json(part: Text | Image) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Image():
            return image_to_json(part)


def image_from_json(stored: Json) -> Image:
    sides = whole_number(stored.get("width")) or 0, whole_number(stored.get("height")) or 0
    known = sides if min(sides) > 0 else None  # older logs do not have them
    return Image(as_text(stored.get("mimeType")), as_text(stored.get("data")), known)


def image_to_json(image: Image) -> dict[str, Any]:
    width, height = image.sides or (None, None)
    return {"type": "image", "mimeType": image.mime_type, "data": image.data, **given(width=width, height=height)}


@dataclass(frozen=True, slots=True)
class OwnCommandEntry:
    """A command that the user ran in `cwd` (`!ls`); `excluded` (`!!ls`) keeps it from the model. Of a long output, the
    last of `total_lines` are here; `artifact` is the number of the whole one, if it could be kept. One that was
    `called_by` a template, by its name, was not typed."""

    command: str
    output: str = ""
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    excluded: bool = False
    at_ms: int | None = None
    cwd: str | None = None
    total_lines: int | None = None
    artifact: int | None = None
    called_by: str = ""
    more: Json = field(default_factory=dict)
    beside: Json = field(default_factory=dict)

    @property
    def left_out(self) -> str:
        """Say that this is the end of the output, and where the whole is; empty if all of it is here, or if the log
        does not tell."""
        if not self.truncated or self.total_lines is None:
            return ""
        where = f"artifact://{self.artifact} is all of it" if self.artifact is not None else "the rest was not kept"
        return f"(the end of {self.total_lines:,} lines; {where})"

    @classmethod
    def from_json(cls, record: Json) -> OwnCommandEntry:
        message = record["message"]
        artifact = as_text(message.get("artifactId"))
        return cls(
            as_text(message.get("command")),
            as_text(message.get("output")),
            whole_number(message.get("exitCode")),
            bool(message.get("cancelled")),
            bool(message.get("truncated")),
            is_excluded(record),
            whole_number(message.get("timestamp")),
            text_or_none(message.get("cwd")),
            whole_number(message.get("totalLines")),
            int(artifact) if artifact.isdecimal() and artifact.isascii() else None,
            as_text(message.get("calledBy")),
            unknown(message, _COMMAND_KEYS),
            unknown(record, BESIDE),
        )

    def to_json(self) -> dict[str, Any]:
        message = {
            "role": "bashExecution",
            "command": self.command,
            "output": self.output,
            "exitCode": self.exit_code,
            "cancelled": self.cancelled,
            "truncated": self.truncated,
            "excludeFromContext": self.excluded,
        }
        message |= given(timestamp=self.at_ms, cwd=self.cwd, totalLines=self.total_lines)
        message |= {"artifactId": str(self.artifact)} if self.artifact is not None else {}
        message |= {"calledBy": self.called_by} if self.called_by else {}
        return {"type": "message", "message": message | dict(self.more), **self.beside}


@dataclass(frozen=True, slots=True)
class AgentCallEntry:
    """A call of an agent's that people were shown in its conversation: it is in no answer there, and models get nothing
    of it. `arguments` are None for what North itself proposes in its name."""

    call_id: str
    tool: str
    kind: Kind
    title: str
    arguments: Json | None = None
    details: ResultDetails = field(default_factory=ResultDetails)
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> AgentCallEntry:
        row = as_object(record.get("data"))
        tool, kind = as_text(row["toolName"]), row["kind"]
        if kind not in get_args(Kind):
            raise ValueError(kind)
        details = ResultDetails.from_json(row.get("details"), tool, is_error=False)
        arguments = row.get("arguments")
        shown = as_text(row.get("title")), arguments if isinstance(arguments, Mapping) else None
        more = unknown(record, FIXED | {"customType", "data"})
        return cls(as_text(row["toolCallId"]), tool, kind, *shown, details, more)

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"toolCallId": self.call_id, "toolName": self.tool, "kind": self.kind}
        row |= {"title": self.title, **given(arguments=self.arguments), "details": self.details.to_json()}
        return {"type": "custom", "customType": AGENT_CALL, "data": row, **self.more}
