"""Google's generateContent API over plain HTTP. Imported only when it is used.

A call arrives whole and without an id. What the vendor signs (a call, or the text at the end) is sent back with its
signature. Since no other vendor signs calls, a signature is kept as a JSON object in a thinking block of its own,
before the call or after the text.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

import httpx2

from north_lsp.providers.adapters import wire
from north_lsp.providers.adapters.accumulator import AnswerAccumulator
from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Refused
from north_lsp.providers.adapters.json_text import arguments_text, parse_call, sent_name
from north_lsp.providers.adapters.message_cache import KeptTexts, encode
from north_lsp.providers.adapters.wire import StreamError
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Image,
    Message,
    ModelRequest,
    StopReason,
    StreamEvent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from north_lsp.providers.json_values import as_count, as_list, as_object, as_text

_REASONS: dict[str, StopReason] = {"STOP": "stop", "MAX_TOKENS": "length"}
_REFUSALS = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "MODEL_ARMOR"}
)
_UNREADABLE_CALLS = frozenset(
    {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"}
)
# The vendor's placeholder for the signature of a call that it has not signed itself.
_UNSIGNED = "skip_thought_signature_validator"
_LEAST_PRO_BUDGET = 128
_OMITTED = "[image omitted: this model accepts only PNG, JPEG, WebP and HEIC]"
_PICTURES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_MOST_BUDGET = {"flash": 24_576, "pro": 32_768}


class GoogleProvider:
    """One client for a model; `wire_id` is sent in place of the catalog's id, `reasons` says whether the model can
    think. `secret` is an API key."""

    def __init__(
        self,
        connection: Connection,
        *,
        reasons: bool = False,
    ) -> None:
        self._connection = connection
        self._address = connection.address.rstrip("/")
        self._reasons = reasons
        self._headers = {"Content-Type": "application/json"}
        if connection.secret is not None:
            self._headers["x-goog-api-key"] = connection.secret
        self._kept: KeptTexts[_Fold] = KeptTexts()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = _Answer()
        model = self._connection.id_of(request.model)
        key = (request.conversation_id, request.model)
        kept = self._kept.take(key, request.messages, partial(_Fold, request.model, model))
        body = {**_body(request, model, self._reasons), **self._connection.extra_body}
        post = partial(self._post, model, encode(body, "contents", kept.texts()))
        try:
            async with aclosing(wire.stream(post, answer, self._connection, request.model)) as events:
                async for event in events:
                    yield event
        except Refused as error:
            yield wire.refusal(error, self._connection.endpoint, request.model, answer.partial("error"))

    async def _post(self, model: str, content: bytes) -> httpx2.Response:
        url = f"{self._address}/models/{quote(model)}:streamGenerateContent?alt=sse"
        try:
            return await wire.send(self._connection.http, url, content, self._headers)
        except Refused as error:
            said = error.body[0] if isinstance(error.body, list) and error.body else error.body
            raise Refused(error.status, _with_delay(error.headers, said), said, error.raw) from None

    async def aclose(self) -> None:
        await self._connection.http.aclose()


def _with_delay(headers: Mapping[str, str], body: object) -> Mapping[str, str]:
    """Return the headers, with the wait that the vendor asks for in the body: `"retryDelay": "34.07s"`."""
    for row in as_list(as_object(as_object(body).get("error")).get("details")):
        delay = as_object(row).get("retryDelay")
        if isinstance(delay, str) and delay.endswith("s") and "retry-after" not in headers:
            return {**headers, "retry-after": delay.removesuffix("s")}
    return headers


# -- the request ------------------------------------------------------------------------------------------------------


def request_body(request: ModelRequest, wire_id: str, reasons: bool) -> dict[str, Any]:
    """Return the request as JSON. The same conversation gives the same bytes, and a longer one begins with them."""
    fold = _Fold(request.model, wire_id)
    for message in request.messages:
        fold.add(message)
    return _body(request, wire_id, reasons) | {"contents": fold.sent}


def _body(request: ModelRequest, wire_id: str, reasons: bool) -> dict[str, Any]:
    """Return the request without its contents."""
    config: dict[str, Any] = {"maxOutputTokens": request.max_output}
    if reasons:
        config["thinkingConfig"] = _thinking(request.reasoning.budget, wire_id)
    body: dict[str, Any] = {"generationConfig": config}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        declared = [
            {"name": tool.name, "description": tool.description, "parametersJsonSchema": dict(tool.schema)}
            for tool in request.tools
        ]
        body["tools"] = [{"functionDeclarations": declared}]
    return body


def _thinking(budget: int, wire_id: str) -> dict[str, Any]:
    """Return the thinking configuration. The large models cannot turn thinking off: "off" sends their minimum."""
    name = wire_id.lower()
    most = next((limit for word, limit in _MOST_BUDGET.items() if word in name), None)
    chosen = budget if most is None else min(budget, most)
    if not chosen:
        return {"thinkingBudget": _LEAST_PRO_BUDGET if "pro" in name else 0}
    return {"thinkingBudget": chosen, "includeThoughts": True}


class _Fold:
    """Messages as contents, for one model."""

    def __init__(self, model: str, wire_id: str) -> None:
        self._model, self._wire_id = model, wire_id
        self.sent: list[dict[str, Any]] = []

    def add(self, message: Message) -> None:
        sent = self.sent
        match message:
            case UserMessage(text, images):
                known = [image for image in images if image.mime_type in _PICTURES]
                words = [text] if text or not images else []
                words += [_OMITTED] if len(known) < len(images) else []
                sent.append({"role": "user", "parts": [*map(_picture, known), *({"text": one} for one in words)]})
            case AssistantMessage():
                if parts := _parts(message, message.model in ("", self._model), self._wire_id):
                    sent.append({"role": "model", "parts": parts})
            case ToolResult():
                parts = _result(message, self._wire_id)
                if sent and sent[-1]["role"] == "user" and "functionResponse" in sent[-1]["parts"][0]:
                    sent[-1]["parts"] += parts
                else:
                    sent.append({"role": "user", "parts": parts})


def _result(result: ToolResult, wire_id: str) -> list[dict[str, Any]]:
    """Return a result as parts. Pictures go inside the result for models that support that, and after it for older
    ones."""
    answer = {"error" if result.is_error else "output": result.text}
    response: dict[str, Any] = {"name": sent_name(result.tool), "response": answer}
    known = [image for image in result.images if image.mime_type in _PICTURES]
    if len(known) < len(result.images):
        answer["pictures"] = _OMITTED
    pictures = [*map(_picture, known)]
    if pictures and "gemini-3" in wire_id:
        return [{"functionResponse": response | {"parts": pictures}}]
    return [{"functionResponse": response}, *pictures]


def _picture(image: Image) -> dict[str, Any]:
    return {"inlineData": {"mimeType": image.mime_type, "data": image.data}}


def _parts(message: AssistantMessage, is_own: bool, wire_id: str) -> list[dict[str, Any]]:
    """Return an answer as parts. Thinking is not sent back, but signatures are. Newer models refuse an answer whose
    first call is unsigned."""
    parts: list[dict[str, Any]] = []
    held: str | None = None
    has_calls = False
    for block in message.blocks:
        match block:
            case Thinking(_, signature):
                kind, value = _read_signature(signature) if is_own else ("", "")
                if kind == "call":
                    held = value
                elif kind == "text":
                    parts.append({"text": "", "thoughtSignature": value})
            case Text(text):
                if text.strip():
                    parts.append({"text": text})
            case ToolCall(_, name, arguments):
                call: dict[str, Any] = {"functionCall": {"name": sent_name(name), "args": dict(arguments)}}
                if held is None and not has_calls and "gemini-3" in wire_id:
                    held = _UNSIGNED
                parts.append(call | ({"thoughtSignature": held} if held is not None else {}))
                held, has_calls = None, True
    return parts if any(part.get("text") or "functionCall" in part for part in parts) else []


def _signed(kind: Literal["call", "text"], value: str) -> str:
    return json.dumps({"google": kind, "signature": value}, separators=(",", ":"))


def _read_signature(signature: str | None) -> tuple[str, str]:
    """Return the kind and value of a signature, both empty for one of another API."""
    try:
        stored = as_object(json.loads(signature or ""))
    except ValueError:
        return "", ""
    return as_text(stored.get("google")), as_text(stored.get("signature"))


# -- the answer -------------------------------------------------------------------------------------------------------


class _Answer(AnswerAccumulator):
    def __init__(self) -> None:
        super().__init__()
        self._reason: str | None = None

    def finish(self) -> tuple[list[StreamEvent], Done | None]:
        events = self._close()
        if self._reason is None:
            return events, None
        return events, self._done("refusal" if self._reason in _REFUSALS else _REASONS.get(self._reason, "stop"))

    def take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        if data.get("error") or name == "error":
            raise StreamError(data)
        self._count(as_object(data.get("usageMetadata")))
        events: list[StreamEvent] = []
        candidates = as_list(data.get("candidates"))
        candidate = as_object(candidates[0]) if candidates else {}
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            events += self._part(as_object(part))
        reason = as_text(candidate.get("finishReason"))
        if reason in _UNREADABLE_CALLS:
            said = as_text(candidate.get("finishMessage")) or f"the model made a call that cannot be read ({reason})"
            raise StreamError({"error": {"code": "server_error", "message": said}})
        if as_object(data.get("promptFeedback")).get("blockReason"):
            reason = "PROHIBITED_CONTENT"
        self._reason = reason or self._reason
        return events

    def _part(self, part: dict[str, Any]) -> list[StreamEvent]:
        signature, text = as_text(part.get("thoughtSignature")), as_text(part.get("text"))
        if isinstance(part.get("functionCall"), dict):
            return self._call(as_object(part["functionCall"]), signature)
        events: list[StreamEvent] = []
        if text:
            events += self._think(text) if part.get("thought") is True else self._say(text)
        if signature and part.get("thought") is not True:
            events += self._close()
            events += self._sign("text", signature)
        return events

    def _call(self, function: dict[str, Any], signature: str) -> list[StreamEvent]:
        events = self._close()
        if signature:
            events += self._sign("call", signature)
        index, name = len(self._blocks), as_text(function.get("name"))
        text = arguments_text(as_object(function.get("args")))
        call = parse_call(self._new_id(as_text(function.get("id"))), name, text)
        self._blocks.append(call)
        started: list[StreamEvent] = [CallStart(index, call.id, name), CallDelta(index, text)]
        return [*events, *started, BlockEnd(index, call)]

    def _sign(self, kind: Literal["call", "text"], signature: str) -> list[StreamEvent]:
        block = Thinking("", _signed(kind, signature))
        self._blocks.append(block)
        return [BlockEnd(len(self._blocks) - 1, block)]

    def _count(self, usage: dict[str, Any]) -> None:
        """Replace the counts with the last report. Cached tokens are included in the prompt's."""
        if not usage:
            return
        cached = as_count(usage.get("cachedContentTokenCount"))
        prompt = as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount"))
        thought = as_count(usage.get("thoughtsTokenCount"))
        output = as_count(usage.get("candidatesTokenCount")) + thought
        self._usage = Usage(max(prompt - cached, 0), output, cached, raw=usage, reasoning=thought)
