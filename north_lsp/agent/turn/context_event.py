"""Lets the user's extensions change what a model is sent of a conversation, for one request: the event `context`.
What is stored and shown stays. Calls and results stay together, whatever an extension does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from north_lsp.agent.log.fields import as_list, as_object
from north_lsp.agent.log.rows import rows_of, text_of, text_of_user
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.display import visible
from north_lsp.providers.base import AssistantMessage, Message, ModelRequest, ToolResult, UserMessage

CONTEXT = "context"
_NO_LIST = "answered `context` with something that is not `{messages: [...]}`"


async def with_extensions(request: ModelRequest, ports: Ports) -> ModelRequest:
    """Return a request as extensions want it, one after the other. One that fails, or would leave nothing that can be
    sent, changes nothing, and the user is told."""
    if not await ports.extensions.has(CONTEXT):
        return request
    async for one in ports.extensions.tell(CONTEXT, {"messages": rows_of(request.messages)}):
        rows = one.content.get("messages")
        problem = one.problem
        if not problem and rows is not None:
            changed = _changed(request.messages, as_list(rows)) if isinstance(rows, list) else None
            problem = "" if changed else _NO_LIST
            request = replace(request, messages=changed) if changed else request
        if problem:
            told = f"the extension {one.extension} {problem}; the model is sent everything"
            await ports.show(Notice("warning", visible(told)))
    return request


def _changed(messages: Sequence[Message], rows: Sequence[object]) -> list[Message] | None:
    """Put the rows of an extension in place of messages: those with an `index` are that message, with another `text`
    where it is not the model's own; a row of the user's without one is new. An answer keeps its results, and these go
    with it; the last message stays. None if the rows make no conversation."""
    texts = {at: text_of(row) for row in map(as_object, rows) if (at := _index(row, messages)) is not None}
    found: list[Message] = []
    placed: set[int] = set()
    for row in map(as_object, rows):
        at = _index(row, messages)
        if at in placed:
            continue
        placed |= {at} if at is not None else set()
        if at is None and (text := text_of_user(row)):
            found.append(UserMessage(text))
        elif at is not None and not isinstance(messages[at], ToolResult):
            found += _with_results(messages, at, texts)
    last = len(messages) - 1
    first = last
    while first > 0 and isinstance(messages[first], ToolResult):
        first -= 1
    if first not in texts:
        found += _with_results(messages, first, texts)
    return found if found and isinstance(found[0], UserMessage) else None


def _index(row: Mapping[str, Any], messages: Sequence[Message]) -> int | None:
    at = row.get("index")
    return at if isinstance(at, int) and not isinstance(at, bool) and 0 <= at < len(messages) else None


def _with_results(messages: Sequence[Message], at: int, texts: Mapping[int, str]) -> list[Message]:
    """Return a message with the results of its calls, each with the text that it has now."""
    found = [_with_text(messages[at], texts.get(at))]
    for later in range(at + 1, len(messages)):
        if not isinstance(messages[later], ToolResult):
            break
        found.append(_with_text(messages[later], texts.get(later)))
    return found


def _with_text(message: Message, text: str | None) -> Message:
    if not text or not text.strip() or isinstance(message, AssistantMessage) or text == message.text:
        return message
    return replace(message, text=text)
