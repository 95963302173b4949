"""An answer of Amazon's Converse API while it arrives. Pure."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from north_lsp.providers.adapters.accumulator import AnswerAccumulator
from north_lsp.providers.adapters.json_text import parse_call
from north_lsp.providers.adapters.wire import StreamError
from north_lsp.providers.base import (
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    StopReason,
    StreamEvent,
    Thinking,
    ToolCall,
    Usage,
)
from north_lsp.providers.json_values import as_count, as_object, as_text

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}
_UNREADABLE = ("malformed_model_output", "malformed_tool_use")


def hidden_thinking(data: str) -> str:
    """Return hidden thinking as it is kept: marked, since Anthropic's own API has another form for the same."""
    return json.dumps({"bedrock": data}, separators=(",", ":"))


def read_hidden_thinking(kept: str) -> str:
    """Return hidden thinking as the vendor takes it back, empty for that of another API."""
    try:
        return as_text(as_object(json.loads(kept)).get("bedrock"))
    except ValueError:
        return ""


class ConverseAnswer(AnswerAccumulator):
    """The vendor numbers blocks, but says of calls alone that they begin; calls are known by its numbers."""

    def __init__(self) -> None:
        super().__init__()
        self._reason: str | None = None
        self._calls: dict[int, tuple[int, list[str]]] = {}

    def finish(self) -> tuple[list[StreamEvent], Done | None]:
        events = self._close()
        if self._reason is None:
            return events, None
        for number in list(self._calls):
            events += self._end(number)
        return events, self._done(_STOP_REASONS.get(self._reason, "stop"))

    def take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        number = as_count(data.get("contentBlockIndex"))
        match name:
            case "contentBlockStart":
                return self._start(number, as_object(as_object(data.get("start")).get("toolUse")))
            case "contentBlockDelta":
                return self._delta(number, as_object(data.get("delta")))
            case "contentBlockStop":
                return self._end(number)
            case "messageStop":
                self._stop(as_text(data.get("stopReason")))
            case "metadata":
                self._count(as_object(data.get("usage")))
                self.ended = self._reason is not None
            case "error":
                raise StreamError(data)
            case _:
                pass
        return []

    def _stop(self, reason: str) -> None:
        if reason in _UNREADABLE:
            said = f"the model wrote something that cannot be read ({reason})"
            raise StreamError({"error": {"code": "server_error", "message": said}})
        self._reason = reason or self._reason

    def _start(self, number: int, call: dict[str, Any]) -> list[StreamEvent]:
        if not call:
            return []
        events = self._end(number)
        at, name = len(self._blocks), as_text(call.get("name"))
        id = self._new_id(as_text(call.get("toolUseId")))
        self._blocks.append(ToolCall(id, name, {}, "the arguments are not complete"))
        self._calls[number] = (at, [])
        return [*events, CallStart(at, id, name)]

    def _delta(self, number: int, delta: dict[str, Any]) -> list[StreamEvent]:
        events = self._say(as_text(delta.get("text")))
        events += self._reason_on(as_object(delta.get("reasoningContent")))
        piece = as_text(as_object(delta.get("toolUse")).get("input"))
        if piece and number in self._calls:
            at, pieces = self._calls[number]
            pieces.append(piece)
            events.append(CallDelta(at, piece))
        return events

    def _reason_on(self, reasoning: dict[str, Any]) -> list[StreamEvent]:
        events = self._think(as_text(reasoning.get("text")))
        if signature := as_text(reasoning.get("signature")):
            more, at = self._block(Thinking(""))
            events += more
            block = self._blocks[at]
            assert isinstance(block, Thinking)
            self._blocks[at] = replace(block, signature=(block.signature or "") + signature)
        if hidden := as_text(reasoning.get("redactedContent")):
            events += self._close()
            whole = Thinking("", redacted=hidden_thinking(hidden))
            self._blocks.append(whole)
            events.append(BlockEnd(len(self._blocks) - 1, whole))
        return events

    def _end(self, number: int) -> list[StreamEvent]:
        events = self._close()
        if number not in self._calls:
            return events
        at, pieces = self._calls.pop(number)
        begun = self._blocks[at]
        assert isinstance(begun, ToolCall)
        call = self._blocks[at] = parse_call(begun.id, begun.name, "".join(pieces))
        return [*events, BlockEnd(at, call)]

    def _count(self, usage: dict[str, Any]) -> None:
        self._usage = Usage(
            as_count(usage.get("inputTokens")),
            as_count(usage.get("outputTokens")),
            as_count(usage.get("cacheReadInputTokens")),
            as_count(usage.get("cacheWriteInputTokens")),
            usage,
        )
