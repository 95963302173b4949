"""Amazon Bedrock's ConverseStream for a scripted answer: its own events in messages of Amazon's event streams. Text and
thinking begin without saying so; only calls have a start."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.anthropic_format import Piece, pieces
from tests.support.bedrock_format import CONTENT_TYPE, EXCEPTIONS, error_body, error_headers, exception, message
from tests.support.script import (
    Answer,
    Call,
    Cut,
    Fail,
    Gate,
    Malformed,
    Raw,
    Reset,
    Say,
    Stop,
    StreamError,
    Think,
    Tokens,
)

__all__ = ["CONTENT_TYPE", "error_body", "error_headers", "event", "stream"]


def event(name: str, data: object) -> bytes:
    """One event; the service fills up all of them, so that their length says nothing."""
    padded = {**data, "p": "abcdefgh"} if isinstance(data, dict) else data
    payload = json.dumps(padded).encode()
    return message(payload, event_type=name, content_type="application/json", message_type="event")


def stream(answer: Answer, request: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield the bytes of a response, with gates and cuts between them."""
    tokens = next((part for part in answer.parts if isinstance(part, Tokens)), Tokens())
    yield event("messageStart", {"role": "assistant"})
    reason = "tool_use" if any(isinstance(part, Call) for part in answer.parts) else "end_turn"
    index = 0
    for position, part in enumerate(answer.parts):
        is_cut = any(isinstance(later, Cut) for later in answer.parts[position + 1 : position + 2])
        match part:
            case Gate() | Cut():
                yield part
            case Malformed(data):
                yield data
            case Stop(word):
                reason = word
            case StreamError(type, text):
                yield exception(EXCEPTIONS.get(type, type), text)
                return
            case Say() | Think() | Call():
                yield from _block(part, index, is_cut)
                index += 1
            case Tokens() | Fail() | Reset() | Raw():
                continue
    yield event("messageStop", {"stopReason": reason})
    usage = {
        "inputTokens": tokens.input,
        "outputTokens": tokens.output,
        "totalTokens": tokens.input + tokens.output + tokens.cache_read + tokens.cache_write,
        "cacheReadInputTokens": tokens.cache_read,
        "cacheWriteInputTokens": tokens.cache_write,
    }
    yield event("metadata", {"usage": usage, "metrics": {"latencyMs": 7}})


def _block(part: Say | Think | Call, index: int, is_cut: bool) -> Iterator[Piece]:
    held: Gate | None = None
    match part:
        case Say(text, number):
            deltas: list[dict[str, Any]] = [{"text": piece} for piece in pieces(text, number)]
        case Think(text, signature):
            deltas = [{"reasoningContent": {"text": piece}} for piece in pieces(text, 3)]
            deltas.append({"reasoningContent": {"signature": signature}})
        case Call(name, arguments, id, held):
            deltas = [{"toolUse": {"input": piece}} for piece in ["", *pieces(json.dumps(arguments), 4)]]
            start = {"toolUse": {"toolUseId": id, "name": name}}
            yield event("contentBlockStart", {"contentBlockIndex": index, "start": start})
    for delta in deltas[: len(deltas) // 2 + 1] if is_cut else deltas:
        if held is not None and delta is deltas[-1]:
            yield held
        yield event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
    if not is_cut:
        yield event("contentBlockStop", {"contentBlockIndex": index})
