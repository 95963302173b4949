"""Spells the messages of a request as rows, in the words of the log, for those outside who see and change them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from north_lsp.agent.log.fields import Json, as_text
from north_lsp.providers.base import AssistantMessage, Message, ToolResult, UserMessage


def rows_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"index": at, **_row(one)} for at, one in enumerate(messages)]


def _row(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(text):
            return {"role": "user", "text": text}
        case ToolResult(call_id, tool, text, is_error):
            return {"role": "tool", "callId": call_id, "tool": tool, "text": text, "isError": is_error}
        case AssistantMessage() as answer:
            calls = [{"id": one.id, "name": one.name, "arguments": dict(one.arguments)} for one in answer.calls]
            return {"role": "assistant", "text": answer.text, "calls": calls}


def text_of(row: Json) -> str:
    return as_text(row.get("text"))


def text_of_user(row: Json) -> str:
    """Return the text of a row that is the user's; empty for the rows of others."""
    return text_of(row) if row.get("role") == "user" else ""
