"""How many tokens a request and its answer have, where the vendor does not say. Pure."""

import json
import math

from north_lsp.providers.base import AssistantMessage, ModelRequest, Text, Thinking, ToolResult, Usage, UserMessage

_CHARACTERS_A_TOKEN = 3.5
_MARGIN = 1.10
_A_MESSAGE = 4
_A_PICTURE = 1_600


def tokens_of(characters: int) -> int:
    return math.ceil(math.ceil(characters / _CHARACTERS_A_TOKEN) * _MARGIN)


def input_tokens(request: ModelRequest) -> int:
    """What a request gives a model to read."""
    system = tokens_of(len(request.system))
    tools = tokens_of(
        sum(len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.schema))) for tool in request.tools)
    )
    messages = sum(_A_MESSAGE + tokens_of(_characters(message)) for message in request.messages)
    pictures = sum(len(message.images) for message in request.messages if isinstance(message, ToolResult))
    return system + tools + messages + pictures * _A_PICTURE


def estimated_usage(request: ModelRequest, answer: AssistantMessage) -> Usage:
    """All of the input counts as read anew."""
    return Usage(input_tokens(request), tokens_of(_characters(answer)))


def _characters(message: UserMessage | AssistantMessage | ToolResult) -> int:
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
