"""Estimates how many tokens a request and its answer have, where the vendor does not say. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace

from north_lsp.providers.base import AssistantMessage, Message, ModelRequest, Text, Thinking, Usage
from north_lsp.providers.model import Model

_CHARACTERS_A_TOKEN = 3.5
_MARGIN = 1.10
_A_MESSAGE = 4


def tokens_of(characters: int) -> int:
    return math.ceil(math.ceil(characters / _CHARACTERS_A_TOKEN) * _MARGIN)


def characters_of(tokens: int) -> float:
    """Return how many characters so many tokens have."""
    return tokens / _MARGIN * _CHARACTERS_A_TOKEN


def fixed_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of what comes before a request's messages: system text and tools."""
    system = tokens_of(len(request.system))
    return system + tokens_of(
        sum(len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.schema))) for tool in request.tools)
    )


def message_tokens(messages: Iterable[Message], model: Model) -> int:
    """Estimate the tokens of messages for a model, pictures included."""
    return sum(_A_MESSAGE + tokens_of(_characters(one)) + _pictures(one, model) for one in messages)


def _pictures(message: Message, model: Model) -> int:
    if isinstance(message, AssistantMessage):
        return 0
    return sum(model.picture_tokens(one.sides) for one in message.images)


def estimated_usage(read: int, answer: AssistantMessage) -> Usage:
    """Estimate the usage of a request that had `read` input tokens; all of them count as not cached."""
    return Usage(read, tokens_of(_characters(answer)))


def at_least(counted: Usage, answer: AssistantMessage) -> Usage:
    """Return the usage of an answer that was broken off: what the vendor counted, or the estimate for the output seen
    so far if that is more. If the vendor counted nothing, nothing is counted."""
    if counted == Usage():
        return counted
    return replace(counted, output=max(counted.output, tokens_of(_characters(answer))))


def _characters(message: Message) -> int:
    if not isinstance(message, AssistantMessage):
        return len(message.text)
    size = 0
    for block in message.blocks:
        match block:
            case Text(text) | Thinking(text):
                size += len(text)
            case call:
                size += len(call.name) + len(json.dumps(dict(call.arguments), ensure_ascii=False))
    return size
