"""Anthropic's Messages API as a stream of server-sent events, for a scripted answer."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

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

Piece = bytes | Gate | Cut


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def pieces(text: str, number: int) -> list[str]:
    size = max(1, -(-len(text) // number))
    return [text[start : start + size] for start in range(0, len(text), size)]


def error_body(fail: Fail) -> bytes:
    return json.dumps({"type": "error", "error": {"type": fail.type, "message": fail.message}}).encode()


def stream(answer: Answer, request: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield the bytes of a response, with gates and cuts between them. A model that is asked to think does so before
    its first call in a turn; if the script has no thought there, the thought has no visible text."""
    if _thinks_first(answer, request):
        answer = Answer((Think("", "signature"), *answer.parts))
    tokens = next((part for part in answer.parts if isinstance(part, Tokens)), Tokens())
    counts = {
        "input_tokens": tokens.input,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write,
    }
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": counts | {"output_tokens": 1},
    }
    yield _event("message_start", message=message)
    yield _event("ping")
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
                yield _event("error", error={"type": type, "message": text})
                return
            case Say() | Think() | Call():
                yield from _block(part, index, is_cut)
                index += 1
            case Tokens() | Fail() | Reset() | Raw():
                continue
    delta = {"stop_reason": reason, "stop_sequence": None}
    yield _event("message_delta", delta=delta, usage={"output_tokens": tokens.output})
    yield _event("message_stop")


def _thinks_first(answer: Answer, request: Mapping[str, Any]) -> bool:
    if not request.get("thinking") or not any(isinstance(part, Call) for part in answer.parts):
        return False
    first = next(part for part in answer.parts if isinstance(part, Say | Think | Call))
    last = request["messages"][-1]["content"] if request.get("messages") else []
    goes_on = isinstance(last, list) and all(block.get("type") == "tool_result" for block in last)
    return not isinstance(first, Think) and not goes_on


def _block(part: Say | Think | Call, index: int, is_cut: bool) -> Iterator[Piece]:
    held: Gate | None = None
    match part:
        case Say(text, number):
            start: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text, number)]
        case Think(text, signature):
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(text, 3)]
            deltas.append({"type": "signature_delta", "signature": signature})
        case Call(name, arguments, id, held):
            start = {"type": "tool_use", "id": id, "name": name, "input": {}}
            texts = ["", *pieces(json.dumps(arguments), 4)]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in texts]
    yield _event("content_block_start", index=index, content_block=start)
    for delta in deltas[: len(deltas) // 2 + 1] if is_cut else deltas:
        if held is not None and delta is deltas[-1]:
            yield held
        yield _event("content_block_delta", index=index, delta=delta)
    if not is_cut:
        yield _event("content_block_stop", index=index)
