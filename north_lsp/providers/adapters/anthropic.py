"""Anthropic's Messages API through the official SDK. Imported only when it is used: the SDK is heavy.

The SDK makes the request; its events are read here as plain JSON, so that a server's unknown event, field or broken
line does no harm. The turn repeats requests, so the SDK's own retries are off.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import httpx2

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters import claude_rules, json_text, wire
from north_lsp.providers.adapters.anthropic_sdk import anthropic
from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Refused
from north_lsp.providers.adapters.json_text import sent_id, sent_name
from north_lsp.providers.adapters.message_cache import KeptTexts, dumps, encode
from north_lsp.providers.adapters.sse import SseDecoder
from north_lsp.providers.adapters.wire import StreamError, Unreachable
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
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
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from north_lsp.providers.credentials import BEARER_BETA, is_bearer_token
from north_lsp.providers.json_values import as_count, as_object, as_text

if TYPE_CHECKING:
    from north_lsp.providers.adapters.anthropic_clouds import Cloud

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
    "refusal": "refusal",
}
_EPHEMERAL = {"type": "ephemeral"}
_MAX_PAUSES = 5
_MOST_BLOCKS = 10_000
_THINKING = ("thinking", "redacted_thinking")


class AnthropicProvider:
    """One client for a model; `secret` is an API key or a bearer token, None for a server that needs none. `wire_id` is
    sent in place of the catalog's id; with `long_cache` the vendor keeps prompts for an hour. A `cloud` serves the
    model in the vendor's place."""

    def __init__(
        self,
        connection: Connection,
        *,
        is_token: bool = False,
        long_cache: bool = False,
        cloud: Cloud | None = None,
    ) -> None:
        self._connection = connection
        self._cloud = cloud
        self._kept: KeptTexts[_Fold] = KeptTexts()
        self._mark = _EPHEMERAL | ({"ttl": "1h"} if long_cache else {})
        if cloud is not None:
            self._client = cloud.client
            return
        headers: dict[str, Any] = {}
        secret, timeouts = connection.secret, connection.timeouts
        if is_token and is_bearer_token(secret or ""):
            headers["anthropic-beta"] = BEARER_BETA
        if secret is None:
            headers |= {"Authorization": anthropic.Omit(), "X-Api-Key": anthropic.Omit()}
        self._client = anthropic.AsyncAnthropic(
            # Without a key, the client would look for one in the environment, and send it to this address.
            api_key=None if is_token else secret or "none",
            auth_token=secret if is_token else None,
            base_url=connection.address,
            max_retries=0,
            default_headers=headers,
            timeout=httpx2.Timeout(timeouts.idle, connect=timeouts.connect),
            http_client=connection.http,
            open_telemetry=False,
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = _Answer()
        key = (request.conversation_id, request.model)
        kept = self._kept.take(key, request.messages, partial(_Fold, request.model))
        wire_id, cloud = self._connection.id_of(request.model), self._cloud
        marked = _lookback(kept.fold.sent, self._mark)
        asked = _body(request, kept.fold.sent, self._mark) | {"model": wire_id}
        if cloud is not None:
            asked, marked = cloud.body(asked), marked | _end(kept.fold.sent, self._mark)
        asked |= self._connection.extra_body
        path = "/v1/messages" if cloud is None else cloud.path_of(wire_id)
        decoder = SseDecoder if cloud is None else cloud.decoder
        texts = kept.texts(marked)
        content = encode(asked, "messages", texts)
        model = request.model
        for _ in range(_MAX_PAUSES):
            try:
                post = partial(self._post, path, content)
                async with aclosing(wire.stream(post, answer, self._connection, model, decoder)) as events:
                    async for event in events:
                        if isinstance(event, Done) and answer.is_paused:
                            break
                        yield event
                    else:
                        return
            except Refused as error:
                yield wire.refusal(error, self._connection.endpoint, model, answer.partial("error"))
                return
            # The model has paused on its own: it continues when it is sent what it has said so far.
            content = _go_on(asked, texts, answer.blocks)
            answer.go_on()
        yield Done("stop", answer.message("stop"))

    async def _post(self, path: str, content: bytes) -> httpx2.Response:
        try:
            response: httpx2.Response = await self._client.post(
                path,
                cast_to=httpx2.Response,
                content=content,
                options={"headers": {"X-Stainless-Raw-Response": "stream"}},
            )
        except anthropic.APIStatusError as error:
            raise Refused(error.status_code, error.response.headers, error.body, error.message) from None
        except anthropic.APIConnectionError as error:
            if (refused := wire.refused_in(error)) is not None:
                raise refused from None
            raise Unreachable from error
        return response

    async def aclose(self) -> None:
        await self._client.close()


# -- the request ------------------------------------------------------------------------------------------------------


def request_body(request: ModelRequest, mark: Mapping[str, str] = _EPHEMERAL) -> dict[str, Any]:
    """Return the request as JSON. The same conversation gives the same bytes, and a longer one begins with them. `mark`
    is put where the part that the vendor should cache ends."""
    fold = _Fold(request.model)
    for message in request.messages:
        fold.add(message)
    marked = _lookback(fold.sent, mark)
    messages = [marked.get(index, message) for index, message in enumerate(fold.sent)]
    return _body(request, messages, mark) | {"messages": messages}


def _body(request: ModelRequest, messages: Sequence[Mapping[str, Any]], mark: Mapping[str, str]) -> dict[str, Any]:
    """Return the request without its messages."""
    budget = request.reasoning.budget
    is_free = claude_rules.tool_loop_can_think(messages, _has_calls, _has_results, _begins_with_thinking)
    may_think = claude_rules.LEAST_BUDGET <= budget < request.max_output and is_free
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_output,
        "stream": True,
        # The vendor sets a breakpoint at the end of the request, so that requests stay prefixes of the next.
        "cache_control": mark,
        "thinking": {"type": "enabled", "budget_tokens": budget} if may_think else None,
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ],
        # Tools come before the system text in the vendor's order, so this one breakpoint keeps both.
        "system": [{"type": "text", "text": request.system, "cache_control": mark}] if request.system else None,
    }
    return {key: value for key, value in body.items() if value not in (None, [])}


def _go_on(body: Mapping[str, Any], texts: Sequence[bytes], blocks: Sequence[Block]) -> bytes:
    """Return the request that continues what the model has said so far.

    The vendor refuses an answer that ends in thinking or white space, so these are cut from the end. With thinking on,
    it requires an answer to begin with thinking, so thinking is turned off if this one does not.
    """
    said = [part for block in blocks if (part := _block(block, is_own=True)) is not None]
    while said and said[-1]["type"] in _THINKING:
        said.pop()
    if said and said[-1]["type"] == "text":
        said[-1] = {"type": "text", "text": said[-1]["text"].rstrip()}
    more = [dumps({"role": "assistant", "content": said})] if said else []
    left_out = {"thinking"} if said and said[0]["type"] not in _THINKING else set()
    return encode({key: value for key, value in body.items() if key not in left_out}, "messages", [*texts, *more])


class _Fold:
    """Messages in the vendor's form, for one model."""

    def __init__(self, model: str) -> None:
        self._model = model
        self.sent: list[dict[str, Any]] = []

    def add(self, message: Message) -> None:
        sent = self.sent
        match message:
            case UserMessage(text, images):
                words = [{"type": "text", "text": text}] if text or not images else []
                sent.append({"role": "user", "content": [*map(_image, images), *words]})
            case AssistantMessage(blocks):
                is_own = message.model in ("", self._model)
                content = [part for block in blocks if (part := _block(block, is_own)) is not None]
                if content:
                    sent.append({"role": "assistant", "content": content})
            case ToolResult(call_id, _, text, is_error, images):
                # The vendor accepts no pictures in a result that is an error.
                shown: object = text
                if images and not is_error:
                    shown = [{"type": "text", "text": text}, *map(_image, images)]
                id = sent_id(call_id)
                result = {"type": "tool_result", "tool_use_id": id, "content": shown, "is_error": is_error}
                if sent and sent[-1]["role"] == "user" and sent[-1]["content"][0]["type"] == "tool_result":
                    sent[-1]["content"].append(result)
                else:
                    sent.append({"role": "user", "content": [result]})


def _block(block: Block, is_own: bool) -> dict[str, Any] | None:
    """Return the block in the vendor's form, None if it cannot be sent back: blank text, and thinking that is unsigned
    or another model's."""
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Thinking(_, _, redacted) if redacted is not None:
            is_sent = is_own and not redacted.startswith("{")  # another API's form
            return {"type": "redacted_thinking", "data": redacted} if is_sent else None
        case Thinking(thinking, signature):
            if not signature or signature.startswith("{") or not is_own:
                return None
            return {"type": "thinking", "thinking": thinking, "signature": signature}
        case ToolCall(id, name, arguments):
            return {"type": "tool_use", "id": sent_id(id), "name": sent_name(name), "input": dict(arguments)}


def _image(image: Image) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": image.data}}


def _has_calls(message: Mapping[str, Any]) -> bool:
    return any(block["type"] == "tool_use" for block in message["content"])


def _has_results(message: Mapping[str, Any]) -> bool:
    return bool(message["content"][0]["type"] == "tool_result")


def _begins_with_thinking(message: Mapping[str, Any]) -> bool:
    return message["content"][0]["type"] in _THINKING


def _lookback(messages: Sequence[dict[str, Any]], mark: Mapping[str, str]) -> dict[int, dict[str, Any]]:
    """Return the message, by its index, that needs a breakpoint because the vendor would not find what is cached."""
    index = claude_rules.end_of_cached(messages)
    if index is None:
        return {}
    end = messages[index]
    *before, final = end["content"]
    return {index: end | {"content": [*before, final | {"cache_control": mark}]}}


def _end(messages: Sequence[dict[str, Any]], mark: Mapping[str, str]) -> dict[int, dict[str, Any]]:
    """Return the last message, by its index, with a breakpoint at its end, for where the vendor does not set it."""
    if not messages or messages[-1]["role"] != "user":
        return {}
    *before, final = messages[-1]["content"]
    return {len(messages) - 1: messages[-1] | {"content": [*before, final | {"cache_control": mark}]}}


# -- the answer -------------------------------------------------------------------------------------------------------


@dataclass
class _Answer:
    """The message so far, always equal to what has been emitted. After a pause, new blocks follow those it has."""

    ended: bool = False
    _by_index: dict[int, Block] = field(default_factory=dict)
    _json: dict[int, list[str]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    _stop: str | None = None
    _usage: Usage = field(default_factory=Usage)
    _before: Usage = field(default_factory=Usage)
    _offset: int = 0

    @property
    def usage(self) -> Usage:
        return self._before + self._usage

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(self._by_index[index] for index in sorted(self._by_index))

    @property
    def is_paused(self) -> bool:
        return self._stop == "pause_turn"

    def go_on(self) -> None:
        self._offset = max(self._by_index, default=-1) + 1
        self._before, self._usage = self.usage, Usage()
        self._stop, self.ended = None, False

    def partial(self, reason: Literal["error"]) -> AssistantMessage:
        return AssistantMessage(self.blocks, reason, self.usage)

    def message(self, reason: StopReason) -> AssistantMessage:
        return AssistantMessage(self.blocks, reason, self.usage)

    def finish(self) -> tuple[list[StreamEvent], Done | None]:
        if self._stop is None or self._open:
            return [], None
        has_calls = any(isinstance(block, ToolCall) for block in self._by_index.values())
        reason = _STOP_REASONS.get(self._stop, "toolUse" if has_calls else "stop")
        return [], Done(reason, self.message(reason))

    def take_done(self) -> None:
        """End the answer: some servers that speak this API send `[DONE]`, like OpenAI's."""
        self.ended = True

    def take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        index = data.get("index")
        at = self._offset + (index if isinstance(index, int) and 0 <= index < _MOST_BLOCKS else 0)
        match as_text(data.get("type")) or name:
            case "message_start":
                self._count(as_object(as_object(data.get("message")).get("usage")))
            case "message_delta":
                self._count(as_object(data.get("usage")))
                self._stop = as_text(as_object(data.get("delta")).get("stop_reason")) or self._stop
            case "message_stop":
                self.ended = True
            case "content_block_start":
                return self._start(at, as_object(data.get("content_block")))
            case "content_block_delta":
                return self._delta(at, as_object(data.get("delta")))
            case "content_block_stop":
                return self._end(at)
            case "error":
                raise StreamError(data)
            case _:
                pass
        return []

    def _start(self, index: int, block: dict[str, Any]) -> list[StreamEvent]:
        match block.get("type"):
            case "text":
                text = as_text(block.get("text"))
                self._by_index[index] = Text(text)
                self._open.add(index)
                return [TextDelta(index, text)] if text else []
            case "thinking":
                text = as_text(block.get("thinking"))
                self._by_index[index] = Thinking(text, as_text(block.get("signature")) or None)
                self._open.add(index)
                return [ThinkingDelta(index, text)] if text else []
            case "redacted_thinking":
                self._by_index[index] = Thinking("", redacted=as_text(block.get("data")))
            case "tool_use":
                id, name = as_text(block.get("id")), as_text(block.get("name"))
                self._by_index[index] = ToolCall(id, name, {}, "the arguments are not complete")
                self._json[index] = []
                self._open.add(index)
                started: list[StreamEvent] = [CallStart(index, id, name)]
                if whole := as_object(block.get("input")):  # servers that do not stream arguments
                    return started + self._arguments(index, json_text.arguments_text(whole))
                return started
            case _:
                pass
        return []

    def _arguments(self, index: int, piece: str) -> list[StreamEvent]:
        self._json[index].append(piece)
        return [CallDelta(index, piece)]

    def _delta(self, index: int, delta: dict[str, Any]) -> list[StreamEvent]:
        match delta.get("type"), self._by_index.get(index):
            case "text_delta", Text(before):
                text = as_text(delta.get("text"))
                self._by_index[index] = Text(before + text)
                return [TextDelta(index, text)]
            case "thinking_delta", Thinking(before) as block:
                text = as_text(delta.get("thinking"))
                self._by_index[index] = replace(block, thinking=before + text)
                return [ThinkingDelta(index, text)]
            case "signature_delta", Thinking(_, signature) as block:
                self._by_index[index] = replace(block, signature=(signature or "") + as_text(delta.get("signature")))
            case "input_json_delta", ToolCall():
                return self._arguments(index, as_text(delta.get("partial_json")))
            case _:
                pass
        return []

    def _end(self, index: int) -> list[StreamEvent]:
        self._open.discard(index)
        block = self._by_index.get(index)
        if block is None:
            return []
        if isinstance(block, ToolCall):
            block = self._by_index[index] = json_text.parse_call(block.id, block.name, "".join(self._json[index]))
        return [BlockEnd(index, block)]

    def _count(self, usage: dict[str, Any]) -> None:
        """Replace earlier counts with later ones; a count that is left out stays."""
        old = self._usage
        self._usage = Usage(
            _number(usage.get("input_tokens"), old.input),
            _number(usage.get("output_tokens"), old.output),
            _number(usage.get("cache_read_input_tokens"), old.cache_read),
            _number(usage.get("cache_creation_input_tokens"), old.cache_write),
            {**old.raw, **usage},
        )


def _number(value: object, before: int) -> int:
    return as_count(value) if isinstance(value, int) else before
