"""OpenAI's Chat Completions through the official SDK, for any server that more or less speaks it. Imported only when it
is used. `compat.py` says how servers differ in what they accept; what they send is read leniently."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field
from functools import partial
from hashlib import sha256
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters import wire
from north_lsp.providers.adapters.accumulator import AnswerAccumulator
from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Refused, describe
from north_lsp.providers.adapters.json_text import arguments_text, parse_call, sent_name
from north_lsp.providers.adapters.message_cache import KeptTexts, dumps, encode
from north_lsp.providers.adapters.openai_client import OpenAiClient
from north_lsp.providers.adapters.strict import Schema, called, schemas_of, strict_schema
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
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from north_lsp.providers.compat import Compat, advice, compat_for, host_of, without_unsupported
from north_lsp.providers.json_values import as_count, as_object, as_text

_REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "content_filter": "refusal",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_MAX_ID = 40
_MAX_FORMS = 4


class ChatProvider:
    """One client for a model; `wire_id` is sent in place of the catalog's id, `reasons` says whether the model can
    think, and `note` receives a message when a server turns out not to support a parameter."""

    def __init__(
        self,
        connection: Connection,
        *,
        compat: Compat | None = None,
        reasons: bool = False,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._connection = connection
        self._compat = compat or compat_for(connection.address, {})
        self._reasons = reasons
        self._note = note
        self._kept: KeptTexts[_Fold] = KeptTexts()
        self._client = OpenAiClient(connection)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        schemas = schemas_of(request.tools) if self._compat.strict_tools else {}
        answer = _Answer(self._compat.reasoning_content_field, schemas)
        for attempt in range(_MAX_FORMS):
            model = self._connection.id_of(request.model)
            begin = partial(_Fold, request, self._compat, self._reasons)
            key = (request.conversation_id, request.model, request.system)
            kept = self._kept.take(key, request.messages, begin)
            body = _body(request, self._compat, self._connection.address, model, self._reasons)
            body.update(self._connection.extra_body)
            content = encode(body, "messages", [*kept.texts(), *map(dumps, kept.fold.end())])
            post = partial(self._client.post, "/chat/completions", content)
            try:
                async with aclosing(wire.stream(post, answer, self._connection, request.model)) as events:
                    async for event in events:
                        yield event
                return
            except Refused as error:
                # If the server does not know a parameter, ask again without it, and leave it out from now on.
                changed = None
                if error.status in (400, 422) and attempt + 1 < _MAX_FORMS:
                    changed = without_unsupported(self._compat, describe(error.body, error.raw)[1])
                if changed is None:
                    yield wire.refusal(error, self._connection.endpoint, request.model, answer.partial("error"))
                    return
                if self._note is not None:
                    self._note(advice(self._compat, changed, self._connection.endpoint.title))
                self._compat, self._kept = changed, KeptTexts()

    async def aclose(self) -> None:
        await self._client.aclose()


# -- the request ------------------------------------------------------------------------------------------------------


def request_body(request: ModelRequest, compat: Compat, address: str, wire_id: str, reasons: bool) -> dict[str, Any]:
    """Return the request as JSON. The same conversation gives the same bytes, and a longer one begins with them."""
    fold = _Fold(request, compat, reasons)
    for message in request.messages:
        fold.add(message)
    body = _body(request, compat, address, wire_id, reasons)
    return body | {"messages": [*fold.sent, *fold.end()]}


def _body(request: ModelRequest, compat: Compat, address: str, wire_id: str, reasons: bool) -> dict[str, Any]:
    """Return the request without its messages."""
    host = host_of(address)
    body: dict[str, Any] = {"model": wire_id, "stream": True}
    if compat.supports_usage_in_streaming:
        body["stream_options"] = {"include_usage": True}
    if compat.supports_store:
        body["store"] = False
    body[compat.max_tokens_field] = request.max_output
    if host == "api.openai.com" and request.conversation_id:
        body["prompt_cache_key"] = request.conversation_id
    if reasons:
        body |= _thinking(request, compat)
    if host == "openrouter.ai":
        if compat.open_router_routing:
            body["provider"] = dict(compat.open_router_routing)
        if wire_id.startswith("anthropic/"):
            body["cache_control"] = {"type": "ephemeral"}
    if host == "ai-gateway.vercel.sh" and compat.vercel_gateway_routing:
        body["providerOptions"] = {"gateway": dict(compat.vercel_gateway_routing)}
    if request.tools:
        strict = {"strict": compat.strict_tools} if compat.supports_strict_mode else {}
        shape = strict_schema if compat.strict_tools else dict
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": shape(tool.schema)}
                | strict,
            }
            for tool in request.tools
        ]
    return body | dict(compat.extra_body)


def _thinking(request: ModelRequest, compat: Compat) -> dict[str, Any]:
    effort = request.reasoning.effort
    is_on = effort not in (None, "none") or request.reasoning.budget > 0
    match compat.thinking_format:
        case "openai":
            if not compat.supports_reasoning_effort or effort is None:
                return {}
            return {"reasoning_effort": compat.reasoning_effort_map.get(effort, effort)}
        case "openrouter":
            if request.reasoning.budget:
                return {"reasoning": {"max_tokens": request.reasoning.budget}}
            if effort is None:
                return {}
            return {"reasoning": {"effort": compat.reasoning_effort_map.get(effort, effort)}}
        case "zai":
            return {"thinking": {"type": "enabled" if is_on else "disabled"}}
        case "qwen":
            return {"enable_thinking": is_on}
        case "qwen-chat-template":
            return {"chat_template_kwargs": {"enable_thinking": is_on}}


class _Fold:
    """Messages in this format, after the system text."""

    def __init__(self, request: ModelRequest, compat: Compat, reasons: bool) -> None:
        self._compat = compat
        self._model = request.model
        self._pictures: list[Image] = []  # not allowed in results: they follow the last one
        role = "developer" if compat.supports_developer_role and reasons else "system"
        self.sent: list[dict[str, Any]] = [{"role": role, "content": request.system}] if request.system else []

    def end(self) -> list[dict[str, Any]]:
        """Return what must follow the last message for as long as it is the last."""
        return [_pictures(self._pictures)] if self._pictures else []

    def add(self, message: Message) -> None:
        sent, compat = self.sent, self._compat
        pictures = [] if isinstance(message, ToolResult) else self.end()
        if not isinstance(message, ToolResult):
            sent += pictures
            self._pictures = []
        match message:
            case UserMessage(text, images):
                if compat.requires_assistant_after_tool_result and sent and sent[-1]["role"] == "tool":
                    sent.append({"role": "assistant", "content": "I have read the results."})
                if sent and sent[-1]["role"] == "user" and not pictures:
                    # Many servers' templates require user and model to alternate.
                    sent[-1] = {"role": "user", "content": _joined(sent[-1]["content"], _said(text, images))}
                else:
                    sent.append({"role": "user", "content": _said(text, images)})
            case AssistantMessage():
                answer = _assistant(message, compat, message.model in ("", self._model))
                if answer is not None:
                    sent.append(answer)
            case ToolResult(call_id, tool, text, _, images):
                result = {"role": "tool", "tool_call_id": _id(call_id, compat), "content": text}
                sent.append(result | ({"name": sent_name(tool)} if compat.requires_tool_result_name else {}))
                self._pictures += images


_Content = str | list[dict[str, Any]]


def _said(text: str, images: Sequence[Image]) -> _Content:
    """Return what a user says: text alone as a string, which servers without vision accept, too."""
    if not images:
        return text
    return [*([_text(text)] if text else []), *map(_image, images)]


def _joined(before: _Content, more: _Content) -> _Content:
    """Return two messages of the user as one."""
    if isinstance(before, str) and isinstance(more, str):
        return f"{before}\n\n{more}"
    return [part for content in (before, more) for part in ([_text(content)] if isinstance(content, str) else content)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{image.mime_type};base64,{image.data}"}}


def _pictures(images: Sequence[Image]) -> dict[str, Any]:
    return {"role": "user", "content": [_text("[images of the results above]"), *map(_image, images)]}


def _assistant(message: AssistantMessage, compat: Compat, is_own: bool) -> dict[str, Any] | None:
    """Return an answer in this format, None if nothing of it can be sent back."""
    text = message.text
    thinking = "\n\n".join(block.thinking for block in message.blocks if isinstance(block, Thinking) and block.thinking)
    calls = [
        {
            "id": _id(call.id, compat),
            "type": "function",
            "function": {"name": sent_name(call.name), "arguments": arguments_text(call.arguments)},
        }
        for call in message.calls
    ]
    if thinking and is_own and compat.requires_thinking_as_text:
        text = f"<thinking>\n{thinking}\n</thinking>\n\n{text}".rstrip()
    if not text.strip():
        if not calls:
            return None
        text = f"Calling {message.calls[0].name}." if compat.requires_assistant_content_for_tool_calls else ""
    answer: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        if compat.requires_reasoning_content_for_tool_calls:
            answer[compat.reasoning_content_field or "reasoning_content"] = thinking if is_own else ""
        answer["tool_calls"] = calls
    return answer


def _id(id: str, compat: Compat) -> str:
    """Return a call's id as the server accepts it. It is the same for call and result."""
    if compat.requires_mistral_tool_ids:
        if re.fullmatch("[a-zA-Z0-9]{9}", id):
            return id
        return sha256(id.encode()).hexdigest()[:9]
    short = id.partition("|")[0]
    return short if len(short) <= _MAX_ID else sha256(id.encode()).hexdigest()[:_MAX_ID]


# -- the answer -------------------------------------------------------------------------------------------------------


@dataclass
class _Call:
    """A call whose pieces are still coming. `index` is None until its name is known."""

    id: str = ""
    name: str = ""
    index: int | None = None
    json: list[str] = field(default_factory=list)


class _Answer(AnswerAccumulator):
    def __init__(self, reasoning_field: str | None, schemas: Mapping[str, Schema]) -> None:
        super().__init__()
        self._schemas = schemas
        self._reasoning_fields: Sequence[str] = (reasoning_field,) if reasoning_field else _REASONING_FIELDS
        self._calls: dict[object, _Call] = {}
        self._last: _Call | None = None
        self._reason: str | None = None
        self._is_done = False

    def take_done(self) -> None:
        super().take_done()
        self._is_done = True

    def finish(self) -> tuple[list[StreamEvent], Done | None]:
        events = self._close()
        if self._reason is None and not (self._is_done and self._blocks):
            return events, None
        texts = {call.index: "".join(call.json) for call in self._calls.values()}
        for index, block in enumerate(self._blocks):
            if isinstance(block, ToolCall):
                call = self._blocks[index] = called(parse_call(block.id, block.name, texts[index]), self._schemas)
                events.append(BlockEnd(index, call))
        reason = _REASONS.get(self._reason or "stop", "stop")
        return events, self._done("stop" if reason == "toolUse" else reason)  # some say so without a call

    def take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        if data.get("error") or name == "error":
            raise StreamError(data)
        self._count(as_object(data.get("usage")) or as_object(as_object(data.get("x_groq")).get("usage")))
        choices = data.get("choices")
        choice = as_object(choices[0]) if isinstance(choices, list) and choices else {}
        self._count(as_object(choice.get("usage")))
        events = self._delta(as_object(choice.get("delta")) or as_object(choice.get("message")))
        if reason := as_text(choice.get("finish_reason")):
            if reason == "error":
                raise StreamError(choice)
            self._reason = reason
        return events

    def _delta(self, delta: dict[str, Any]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        for key in self._reasoning_fields:
            if piece := as_text(delta.get(key)):
                events += self._think(piece)
                break  # a server that sends two of them sends the same text in both
        content = delta.get("content")
        if isinstance(content, str):
            events += self._say(content)
        elif isinstance(content, list):
            for part in content:
                events += self._part(as_object(part))
        events += self._say(as_text(delta.get("refusal")))
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            events += self._call(as_object(call))
        if isinstance(delta.get("function_call"), dict):
            events += self._call({"index": 0, "function": delta["function_call"]})
        return events

    def _part(self, part: dict[str, Any]) -> list[StreamEvent]:
        """Return the events of one part of a content that is a list."""
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            pieces = inner if isinstance(inner, list) else [{"text": inner}]
            return [event for piece in pieces for event in self._think(as_text(as_object(piece).get("text")))]
        return self._say(as_text(part.get("text")))

    def _call(self, piece: dict[str, Any]) -> list[StreamEvent]:
        function = as_object(piece.get("function"))
        call = self._find_call(piece, as_text(function.get("name")))
        call.id = call.id or as_text(piece.get("id"))
        call.name = call.name or as_text(function.get("name"))
        arguments = function.get("arguments")
        text = arguments_text(arguments) if isinstance(arguments, dict) else as_text(arguments)
        if text:
            call.json.append(text)
        if not call.name:
            return []
        if call.index is not None:
            return [CallDelta(call.index, text)] if text else []
        events = self._close()
        call.index = len(self._blocks)
        id = self._new_id(call.id)
        self._blocks.append(ToolCall(id, call.name, {}, "the arguments are not complete"))
        events.append(CallStart(call.index, id, call.name))
        whole = "".join(call.json)
        return [*events, CallDelta(call.index, whole)] if whole else events

    def _find_call(self, piece: dict[str, Any], name: str) -> _Call:
        """Return the call that a piece belongs to. Some servers leave out the index, some the id, some both; some give
        all calls the index 0."""
        given, id = piece.get("index"), as_text(piece.get("id"))
        index = given if isinstance(given, int | str) else None
        known = self._calls.get(("index", index)) if index is not None else None
        if known is not None and id and known.id and id != known.id:
            known = None
        if known is None and id:
            known = next((call for call in self._calls.values() if call.id == id), None)
        if known is None and index is None and not id and not name:
            known = self._last
        if known is None:
            known = _Call(id)
            key = ("index", index) if index is not None else ("new", len(self._calls))
            if key in self._calls:
                self._calls["old", len(self._calls)] = self._calls[key]
            self._calls[key] = known
        self._last = known
        return known

    def _count(self, usage: dict[str, Any]) -> None:
        """Replace the counts with the last report. Cached tokens are included in the prompt's."""
        if not usage:
            return
        details = as_object(usage.get("prompt_tokens_details"))
        cached = as_count(details.get("cached_tokens")) or as_count(usage.get("prompt_cache_hit_tokens"))
        cached = cached or as_count(usage.get("cached_tokens"))
        written = as_count(details.get("cache_write_tokens"))
        total = as_count(usage.get("prompt_tokens"))
        output = as_count(usage.get("completion_tokens"))
        thought = as_count(as_object(usage.get("completion_tokens_details")).get("reasoning_tokens"))
        self._usage = Usage(max(total - cached - written, 0), output, cached, written, usage, thought)
