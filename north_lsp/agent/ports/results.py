"""The result of a tool call, and the one envelope in which it reaches the model (text-first tools aside)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field

from north_lsp.agent.ports.events import CallEnded
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Image
from north_lsp.vocabulary import Mode


class StopTurn(Exception):
    """The user ended the turn from a review, perhaps with a message to the model."""

    def __init__(self, comment: str | None = None) -> None:
        super().__init__()
        self.comment = comment


@dataclass(frozen=True, slots=True)
class SpilledOutput:
    """An output that was too long to hold in memory. `number` is the artifact with the whole output, None if it could
    not be written; `lines` and `bytes` count the whole."""

    number: int | None
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class NextPrompt:
    """A prompt that follows a turn by itself, since the user has decided so in it; `compacts`: after the conversation
    was summarized."""

    text: str
    mode: Mode
    compacts: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call: the text for the model, the event for people, and `details` for the log. `images` refer to
    blobs. `ends_turn`: the model is not asked again; `next` is the prompt that follows then."""

    text: str
    is_error: bool
    ended: CallEnded
    details: Mapping[str, object] = field(default_factory=dict)
    images: tuple[Image, ...] = ()
    ends_turn: bool = False
    next: NextPrompt | None = None


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def ok(data: object) -> str:
    return _json({"ok": True, "data": data})


def failed(error: ToolError) -> str:
    described: dict[str, object] = {"code": error.code, "message": error.message}
    if error.hint:
        described["hint"] = error.hint
    if error.details:
        described["details"] = error.details
    return _json({"ok": False, "error": described})
