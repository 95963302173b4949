"""OpenAI's Responses API as a stream of server-sent events, for a scripted answer."""

import json
from collections.abc import Generator, Iterator, Mapping
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


class _Events:
    """Numbers the events, as the vendor does."""

    def __init__(self) -> None:
        self._number = -1

    def __call__(self, name: str, /, **data: Any) -> bytes:
        self._number += 1
        payload = {"type": name, "sequence_number": self._number, **data}
        return f"event: {name}\ndata: {json.dumps(payload)}\n\n".encode()


def stream(answer: Answer, request: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield the bytes of a response, with gates and cuts between them. A scripted stop is the reason of an incomplete
    response."""
    event = _Events()
    tokens = next((part for part in answer.parts if isinstance(part, Tokens)), Tokens())
    response: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": request.get("model"),
        "status": "in_progress",
        "output": [],
        "usage": None,
        "error": None,
        "incomplete_details": None,
    }
    yield event("response.created", response=response)
    yield event("response.in_progress", response=response)
    answers = len(request["input"]) if isinstance(request.get("input"), list) else 0
    output: list[dict[str, Any]] = []
    status, details = "completed", None
    for position, part in enumerate(answer.parts):
        is_cut = any(isinstance(later, Cut) for later in answer.parts[position + 1 : position + 2])
        match part:
            case Gate() | Cut():
                yield part
            case Malformed(data):
                yield data
            case Stop(word):
                status, details = "incomplete", {"reason": word}
            case StreamError(code, text):
                failed = response | {"status": "failed", "error": {"code": code, "message": text}}
                yield event("response.failed", response=failed)
                return
            case Say() | Think() | Call():
                item = yield from _item(event, part, len(output), f"{answers}_{len(output)}", is_cut)
                output.append(item)
            case Tokens() | Fail() | Reset() | Raw():
                continue
    total = tokens.input + tokens.cache_read + tokens.cache_write
    usage = {
        "input_tokens": total,
        "input_tokens_details": {"cached_tokens": tokens.cache_read, "cache_write_tokens": tokens.cache_write},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": total + tokens.output,
    }
    final = response | {"status": status, "incomplete_details": details, "output": output, "usage": usage}
    yield event(f"response.{status}", response=final)


def _item(
    event: _Events, part: Say | Think | Call, index: int, unique: str, is_cut: bool
) -> Generator[Piece, None, dict[str, Any]]:
    place = {"output_index": index}
    match part:
        case Say(text, number):
            id = f"msg_{unique}"
            content = [{"type": "output_text", "text": text, "annotations": []}]
            done: dict[str, Any] = {"id": id, "type": "message", "role": "assistant", "content": content}
            started = done | {"content": []}
            inner = {"item_id": id, **place, "content_index": 0}
            empty = {"type": "output_text", "text": "", "annotations": []}
            opening = [event("response.output_item.added", **place, item=started | {"status": "in_progress"})]
            opening.append(event("response.content_part.added", **inner, part=empty))
            deltas = [
                event("response.output_text.delta", **inner, delta=piece, logprobs=[]) for piece in pieces(text, number)
            ]
            closing = [event("response.output_text.done", **inner, text=text, logprobs=[])]
            closing.append(event("response.content_part.done", **inner, part=content[0]))
        case Think(text, signature):
            id = f"rs_{unique}"
            summary = [{"type": "summary_text", "text": text}]
            done = {"id": id, "type": "reasoning", "summary": summary, "encrypted_content": signature}
            inner = {"item_id": id, **place, "summary_index": 0}
            opening = [
                event("response.output_item.added", **place, item=done | {"summary": [], "encrypted_content": "part"})
            ]
            opening.append(
                event("response.reasoning_summary_part.added", **inner, part={"type": "summary_text", "text": ""})
            )
            deltas = [event("response.reasoning_summary_text.delta", **inner, delta=piece) for piece in pieces(text, 3)]
            closing = [event("response.reasoning_summary_text.done", **inner, text=text)]
            closing.append(event("response.reasoning_summary_part.done", **inner, part=summary[0]))
        case Call(name, arguments, call_id):
            id, whole = f"fc_{call_id}_{unique}", json.dumps(arguments)
            done = {"id": id, "type": "function_call", "call_id": call_id, "name": name, "arguments": whole}
            inner = {"item_id": id, **place}
            opening = [
                event("response.output_item.added", **place, item=done | {"arguments": "", "status": "in_progress"})
            ]
            deltas = [
                event("response.function_call_arguments.delta", **inner, delta=piece) for piece in pieces(whole, 4)
            ]
            closing = [event("response.function_call_arguments.done", **inner, name=name, arguments=whole)]
    yield from opening
    yield from deltas[: len(deltas) // 2 + 1] if is_cut else deltas
    if not is_cut:
        yield from closing
        yield event("response.output_item.done", **place, item=done | {"status": "completed"})
    return done
