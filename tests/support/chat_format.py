"""OpenAI's Chat Completions as a stream of server-sent events, for a scripted answer."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.anthropic_format import Piece, pieces
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


def error_body(fail: Fail) -> bytes:
    error = {"message": fail.message, "type": fail.type, "param": None, "code": fail.type}
    return json.dumps({"error": error}).encode()


def stream(answer: Answer, request: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield the bytes of a response, with gates and cuts between them. Usage comes last, if it was asked for."""

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _data(_frame(request) | {"choices": [choice]})

    tokens = next((part for part in answer.parts if isinstance(part, Tokens)), Tokens())
    reason = "tool_calls" if any(isinstance(part, Call) for part in answer.parts) else "stop"
    calls = 0
    yield chunk({"role": "assistant", "content": ""})
    for position, part in enumerate(answer.parts):
        is_cut = any(isinstance(later, Cut) for later in answer.parts[position + 1 : position + 2])
        match part:
            case Gate() | Cut():
                yield part
            case Malformed(data):
                yield data
            case Stop(word):
                reason = word
            case StreamError(code, text):
                yield _data({"error": {"message": text, "type": code, "code": code}})
                return
            case Say(text, number):
                deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces(text, number)]
            case Think(text):
                deltas = [{"reasoning_content": piece} for piece in pieces(text, 3)]
            case Call(name, arguments, id):
                head = {"index": calls, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
                rest = [
                    {"index": calls, "function": {"arguments": piece}} for piece in pieces(json.dumps(arguments), 4)
                ]
                deltas = [{"tool_calls": [piece]} for piece in (head, *rest)]
                calls += 1
            case Tokens() | Fail() | Reset() | Raw():
                continue
        if isinstance(part, Say | Think | Call):
            for delta in deltas[: len(deltas) // 2 + 1] if is_cut else deltas:
                yield chunk(delta)
    yield chunk({}, reason)
    if (request.get("stream_options") or {}).get("include_usage"):
        total = tokens.input + tokens.cache_read
        usage = {
            "prompt_tokens": total,
            "completion_tokens": tokens.output,
            "total_tokens": total + tokens.output,
            "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        }
        yield _data(_frame(request) | {"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _frame(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": request.get("model")}


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()
