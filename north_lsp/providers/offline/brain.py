"""Computes the offline model's answer: a pure function of the request.

Each request of a turn replays the same work from the user's message and feeds it the results so far. Where the results
end, the next calls are the answer; where the work ends, its report is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from textwrap import indent

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    Message,
    ModelRequest,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from north_lsp.providers.offline.phrases import phrase
from north_lsp.providers.offline.replies import NO_RESULT, read_reply
from north_lsp.providers.offline.requests import Help, Order, Task, parse
from north_lsp.providers.offline.work import Batch, Desk, Steps, steps_for

_MAX_TASKS = 30
_CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class _Round:
    """An earlier answer in this turn, and the results of its calls."""

    answer: AssistantMessage
    results: tuple[ToolResult | None, ...]


_CONTEXT = lazy_pattern(r"<context>\n.*?\n</context>\s*", re.DOTALL)  # what the editor shows: nobody asks for that


def next_answer(request: ModelRequest) -> AssistantMessage:
    """Return the answer to a request: a sentence and calls, or the report that ends the turn."""
    at = _turn_start(request.messages)
    opening = request.messages[at] if at is not None else None
    order = parse(_CONTEXT.sub("", opening.text)) if isinstance(opening, UserMessage) else Order((Help(),))
    rounds = _rounds(request.messages[at + 1 :] if at is not None else ())
    # A tool that was called earlier counts as offered: switching modes does not undo what was done.
    called = {call.name for each in rounds for call in each.answer.calls}
    desk = Desk(frozenset({tool.name for tool in request.tools} | called), order.attachments)
    batch = _play(_work(order.tasks, desk), rounds, desk)
    is_first = not any(isinstance(message, AssistantMessage) for message in request.messages[:at])
    if batch is not None:
        blocks = _with_calls(batch, desk, request.messages)
    else:
        blocks = (Text(_report(desk, order.tasks, with_note=is_first and Help() not in order.tasks)),)
    usage = Usage(_tokens(_read_characters(request)), _tokens(sum(map(_block_characters, blocks))))
    return AssistantMessage(blocks, "stop" if batch is None else "toolUse", usage)


def _turn_start(messages: Sequence[Message]) -> int | None:
    found = (at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], UserMessage))
    return next(found, None)


def _rounds(messages: Sequence[Message]) -> list[_Round]:
    results = {message.call_id: message for message in messages if isinstance(message, ToolResult)}
    answers = [message for message in messages if isinstance(message, AssistantMessage) and message.calls]
    return [_Round(answer, tuple(results.get(call.id) for call in answer.calls)) for answer in answers]


def _work(tasks: Sequence[Task], desk: Desk) -> Steps:
    for task in tasks[:_MAX_TASKS]:
        yield from steps_for(task, desk)
        if desk.stopped:
            desk.said.append(phrase("stopped"))
            return
    if len(tasks) > _MAX_TASKS:
        desk.done.append(phrase("too_many", count=_MAX_TASKS))


def _play(steps: Steps, rounds: Sequence[_Round], desk: Desk) -> Batch | None:
    """Return the batch that follows the rounds so far, None at the end of the work."""
    try:
        batch = next(steps)
        for each in rounds:
            desk.said.clear()
            if [call.name for call in each.answer.calls] != [planned.tool for planned in batch.calls]:
                desk.done.append(phrase("lost"))
                return None
            batch = steps.send([NO_RESULT if result is None else read_reply(result) for result in each.results])
    except StopIteration:
        return None
    return batch


def _with_calls(batch: Batch, desk: Desk, messages: Sequence[Message]) -> tuple[Block, ...]:
    key = hashlib.sha256(repr(messages).encode("utf-8", "replace")).hexdigest()[:12]
    calls = [
        ToolCall(f"call_{key}_{number}", planned.tool, planned.arguments)
        for number, planned in enumerate(batch.calls, 1)
    ]
    return (Text("\n\n".join([*desk.said, batch.sentence])), *calls)


def _report(desk: Desk, tasks: Sequence[Task], *, with_note: bool) -> str:
    parts = list(desk.said)
    if len(desk.done) == 1 or len(tasks) == 1:
        parts += desk.done
    elif desk.done:
        lines = (indent(phrase("done_line", text=text), "  ")[2:] for text in desk.done)
        parts.append("\n".join([phrase("done"), "", *lines]))
    if with_note:
        parts.append(phrase("note"))
    return "\n\n".join(parts)


def _tokens(characters: int) -> int:
    return (characters + _CHARACTERS_PER_TOKEN - 1) // _CHARACTERS_PER_TOKEN


def _read_characters(request: ModelRequest) -> int:
    tools = sum(len(tool.name) + len(tool.description) + len(str(tool.schema)) for tool in request.tools)
    return len(request.system) + tools + sum(map(_message_characters, request.messages))


def _message_characters(message: Message) -> int:
    match message:
        case AssistantMessage(blocks):
            return sum(map(_block_characters, blocks))
        case UserMessage(text) | ToolResult(_, _, text):
            return len(text)


def _block_characters(block: Block) -> int:
    match block:
        case Text(text):
            return len(text)
        case ToolCall(_, name, arguments):
            return len(name) + len(str(arguments))
        case _:
            return len(block.thinking)
