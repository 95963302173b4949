"""Google's streamGenerateContent as a stream of server-sent events, for a scripted answer."""

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
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": fail.type, "domain": "googleapis.com"}]
    error = {"code": fail.status, "message": fail.message, "status": fail.type, "details": details}
    return json.dumps({"error": error}).encode()


def stream(answer: Answer, request: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield the bytes of a response, with gates and cuts between them. A call arrives whole, signed, and without an
    id."""
    tokens = next((part for part in answer.parts if isinstance(part, Tokens)), Tokens())
    prompt = tokens.input + tokens.cache_read
    usage: dict[str, Any] = {"promptTokenCount": prompt, "totalTokenCount": prompt}
    if tokens.cache_read:
        usage["cachedContentTokenCount"] = tokens.cache_read
    reason, calls = "STOP", 0
    for position, part in enumerate(answer.parts):
        is_cut = any(isinstance(later, Cut) for later in answer.parts[position + 1 : position + 2])
        match part:
            case Gate() | Cut():
                yield part
            case Malformed(data):
                yield data
            case Stop(word):
                reason = word
            case StreamError(status, text):
                yield _data({"error": {"code": 503, "message": text, "status": status}})
                return
            case Say(text, number):
                texts = pieces(text, number)
                for piece in texts[: len(texts) // 2 + 1] if is_cut else texts:
                    yield _data(_frame(usage, {"text": piece}))
            case Think(text):
                texts = pieces(text, 3)
                for piece in texts[: len(texts) // 2 + 1] if is_cut else texts:
                    yield _data(_frame(usage, {"text": piece, "thought": True}))
            case Call(name, arguments):
                body = {"functionCall": {"name": name, "args": arguments}}
                data = _data(_frame(usage, body | ({} if calls else {"thoughtSignature": f"signed-{name}"})))
                yield data[: len(data) // 2] if is_cut else data
                calls += 1
            case Tokens() | Fail() | Reset() | Raw():
                continue
    counted = usage | {"candidatesTokenCount": tokens.output, "totalTokenCount": prompt + tokens.output}
    last = _frame(counted, {"text": ""})
    last["candidates"][0]["finishReason"] = reason
    yield _data(last)


def _frame(usage: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [dict(part)], "role": "model"}, "index": 0}
    return {"candidates": [candidate], "usageMetadata": dict(usage), "modelVersion": "m", "responseId": "r"}


def _data(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\r\n\r\n".encode()
