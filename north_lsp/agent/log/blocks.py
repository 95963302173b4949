"""The parts of an answer, as stored in the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from north_lsp.agent.log.partial_json import read_partial
from north_lsp.providers.base import Block, Text, Thinking, ToolCall

BLOCK_KEYS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "text"}),
    "thinking": frozenset({"type", "thinking", "signature", "redacted"}),
    "tool_call": frozenset({"type", "id", "name", "arguments", "problem"}),
}


def block_to_json(block: Block) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(thinking, signature, redacted):
            stored: dict[str, Any] = {"type": "thinking", "thinking": thinking}
            return (
                stored | ({"signature": signature} if signature else {}) | ({"redacted": redacted} if redacted else {})
            )
        case ToolCall(id, name, arguments, problem):
            call = {"type": "tool_call", "id": id, "name": name, "arguments": dict(arguments)}
            return call | ({"problem": problem} if problem else {})


def block_from_json(stored: Mapping[str, Any]) -> Block | None:
    """Read a part of an answer; None if this version does not know its kind."""
    match stored.get("type"):
        case "text":
            return Text(str(stored.get("text", "")))
        case "thinking":
            return Thinking(str(stored.get("thinking", "")), stored.get("signature"), stored.get("redacted"))
        case "tool_call":
            arguments = stored.get("arguments")
            fields = arguments if isinstance(arguments, dict) else {}
            if not fields and stored.get("cut"):  # what had arrived of them when the process was killed
                fields = read_partial(str(stored["cut"])).complete_fields
            return ToolCall(str(stored["id"]), str(stored.get("name", "")), fields, stored.get("problem"))
        case _:
            return None
