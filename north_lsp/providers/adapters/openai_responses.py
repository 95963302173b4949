"""OpenAI's Responses API through the official SDK, stateless: nothing is stored there, and the model's reasoning is
sent back to it encrypted. Imported only when it is used.

A call's id is `<call_id>|<item_id>`. A thinking block's signature is its reasoning item as a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import field, replace
from functools import partial
from hashlib import sha256
from typing import Any, Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters import wire
from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Refused
from north_lsp.providers.adapters.json_text import arguments_text, parse_call, sent_name
from north_lsp.providers.adapters.message_cache import KeptTexts, encode
from north_lsp.providers.adapters.openai_client import OpenAiClient
from north_lsp.providers.adapters.strict import Schema, called, schemas_of, strict_schema
from north_lsp.providers.adapters.wire import StreamError
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
from north_lsp.providers.json_values import as_count, as_list, as_object, as_text

_MAX_ID = 64


class ResponsesProvider:
    """One client for a model; `wire_id` is sent in place of the catalog's id, `strict_tools` says whether calls must
    match the tools' schemas."""

    def __init__(
        self,
        connection: Connection,
        *,
        strict_tools: bool = False,
        query: Mapping[str, str] | None = None,
    ) -> None:
        self._connection = connection
        self._strict = strict_tools
        self._kept: KeptTexts[_Fold] = KeptTexts()
        self._client = OpenAiClient(connection, query)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = _Answer(schemas_of(request.tools) if self._strict else {})
        key = (request.conversation_id, request.model)
        kept = self._kept.take(key, request.messages, partial(_Fold, request.model))
        body = _body(request, strict_tools=self._strict) | {"model": self._connection.id_of(request.model)}
        body.update(self._connection.extra_body)
        post = partial(self._client.post, "/responses", encode(body, "input", kept.texts()))
        try:
            async with aclosing(wire.stream(post, answer, self._connection, request.model)) as events:
                async for event in events:
                    yield event
        except Refused as error:
            yield wire.refusal(error, self._connection.endpoint, request.model, answer.partial("error"))

    async def aclose(self) -> None:
        await self._client.aclose()


# -- the request ------------------------------------------------------------------------------------------------------


def request_body(request: ModelRequest, *, strict_tools: bool = False) -> dict[str, Any]:
    """Return the request as JSON. The same conversation gives the same bytes, and a longer one begins with them."""
    fold = _Fold(request.model)
    for message in request.messages:
        fold.add(message)
    return _body(request, strict_tools=strict_tools) | {"input": fold.sent}


def _body(request: ModelRequest, *, strict_tools: bool) -> dict[str, Any]:
    """Return the request without its input."""
    effort = request.reasoning.effort
    body: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "store": False,
        "max_output_tokens": request.max_output,
        "prompt_cache_key": request.conversation_id or None,
        "reasoning": {"effort": effort, "summary": "auto"} if effort is not None else None,
        "include": ["reasoning.encrypted_content"] if effort is not None else None,
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": strict_schema(tool.schema) if strict_tools else dict(tool.schema),
                # Without this field the API makes every parameter required.
                "strict": strict_tools,
            }
            for tool in request.tools
        ],
        "instructions": request.system or None,
    }
    return {key: value for key, value in body.items() if value not in (None, [])}


class _Fold:
    """Messages as items, for one model. Each item's id is sent once: if a server repeats an id, the item is sent
    without it, and a reasoning item is left out."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._seen: set[str] = set()
        self.sent: list[dict[str, Any]] = []

    def add(self, message: Message) -> None:
        match message:
            case UserMessage(text, images):
                words = [{"type": "input_text", "text": text}] if text or not images else []
                self._put({"role": "user", "content": [*words, *map(_image, images)]})
            case AssistantMessage(blocks):
                is_own = message.model in ("", self._model)
                said = [item for block in blocks for item in _block(block, is_own)]
                while said and said[-1].get("type") == "reasoning":
                    said.pop()  # what it led to never came, and on its own it is refused
                self._put(*said)
            case ToolResult(call_id, _, text, _, images):
                shown: object = [{"type": "input_text", "text": text}, *map(_image, images)] if images else text
                self._put({"type": "function_call_output", "call_id": _split(call_id)[0], "output": shown})

    def _put(self, *items: dict[str, Any]) -> None:
        for item in items:
            id = item.get("id")
            if id is None or id not in self._seen:
                self.sent.append(item)
                self._seen |= {id} if id is not None else set()
            elif item.get("type") != "reasoning":
                self.sent.append({key: value for key, value in item.items() if key != "id"})


def _image(image: Image) -> dict[str, Any]:
    url = f"data:{image.mime_type};base64,{image.data}"
    return {"type": "input_image", "detail": "auto", "image_url": url}


def _block(block: Block, is_own: bool) -> list[dict[str, Any]]:
    match block:
        case Text(text):
            return [{"role": "assistant", "content": text}] if text.strip() else []
        case Thinking(_, signature):
            item = _reasoning(signature) if is_own else None
            return [] if item is None else [item]
        case ToolCall(id, name, arguments):
            call_id, item_id = _split(id)
            call = {
                "type": "function_call",
                "call_id": call_id,
                "name": sent_name(name),
                "arguments": arguments_text(arguments),
            }
            # With its id, the item would be refused if the reasoning that led to it were missing.
            return [call | ({"id": item_id} if item_id and is_own else {})]


def _split(id: str) -> tuple[str, str]:
    call_id, _, item_id = id.partition("|")
    short = call_id if len(call_id) <= _MAX_ID else sha256(call_id.encode()).hexdigest()
    return short, item_id if item_id.startswith("fc") and len(item_id) <= _MAX_ID else ""


def _reasoning(signature: str | None) -> dict[str, Any] | None:
    """Return a stored reasoning item, None for the signature of another API."""
    try:
        item = json.loads(signature or "")
    except ValueError:
        return None
    if not isinstance(item, dict) or item.get("type") != "reasoning":
        return None
    id = as_text(item.get("id"))
    return item if id.startswith("rs") and len(id) <= _MAX_ID else None


# -- the answer -------------------------------------------------------------------------------------------------------


@dataclass
class _Answer:
    """The message so far, always equal to what has been emitted."""

    schemas: Mapping[str, Schema]
    ended: bool = False
    _blocks: dict[int, Block] = field(default_factory=dict)
    _json: dict[int, list[str]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    # From the vendor's index or item id to our index, which counts only the items that become blocks.
    _known: dict[object, int] = field(default_factory=dict)
    _final: dict[str, Any] | None = None
    _usage: Usage = field(default_factory=Usage)

    @property
    def usage(self) -> Usage:
        return self._usage

    def partial(self, reason: Literal["error"]) -> AssistantMessage:
        return self._message(reason)

    def _message(self, reason: StopReason | Literal["error"]) -> AssistantMessage:
        return AssistantMessage(tuple(self._blocks[index] for index in sorted(self._blocks)), reason, self._usage)

    def finish(self) -> tuple[list[StreamEvent], Done | None]:
        if self._final is None:
            return [], None
        events: list[StreamEvent] = []
        for position, item in enumerate(as_list(self._final.get("output"))):
            if isinstance(item, dict) and self._find({"output_index": position, "item_id": item.get("id")}) is None:
                events += self._added(position, item)
                events += self._done(position, item)
        reason = self._reason(self._final)
        if reason != "length" and self._open:
            return events, None
        for index in sorted(self._open):
            events += self._close(index)
        return events, Done(reason, self._message(reason))

    def _reason(self, response: dict[str, Any]) -> StopReason:
        if response.get("status") == "incomplete":
            why = as_object(response.get("incomplete_details")).get("reason")
            return "refusal" if why == "content_filter" else "length"
        has_calls = any(isinstance(block, ToolCall) for block in self._blocks.values())
        return "toolUse" if has_calls else "stop"

    def take_done(self) -> None:
        """End the answer: some servers that speak this API send `[DONE]`, like the older one."""
        self.ended = True

    def take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        kind = as_text(data.get("type")) or name
        match kind:
            case "response.output_item.added":
                return self._added(data.get("output_index"), as_object(data.get("item")))
            case "response.output_item.done":
                return self._done(data.get("output_index"), as_object(data.get("item")))
            case "response.completed" | "response.incomplete":
                self._final = {"status": kind.partition(".")[2]} | as_object(data.get("response"))
                self._count(as_object(self._final.get("usage")))
                self.ended = True
            case "response.failed" | "response.cancelled":
                response = as_object(data.get("response"))
                self._count(as_object(response.get("usage")))
                raise StreamError({"error": response.get("error") or {"message": "the response was not completed"}})
            case "error":
                raise StreamError(data if isinstance(data.get("error"), dict) else {"error": _without_type(data)})
            case _ if kind.endswith((".delta", ".done", ".added")):
                index = self._find(data)
                if index is not None:
                    return self._delta(index, kind, data)
            case _:
                if data.get("error"):
                    raise StreamError(data)
        return []

    def _find(self, data: Mapping[str, object]) -> int | None:
        found = self._known.get(_place(data.get("output_index")))
        return self._known.get(as_text(data.get("item_id"))) if found is None else found

    def _added(self, position: object, item: dict[str, Any]) -> list[StreamEvent]:
        block: Block
        index = len(self._blocks)
        events: list[StreamEvent] = []
        match item.get("type"):
            case "message":
                block = Text("")
            case "reasoning":
                block = Thinking("")
            case "function_call":
                id = _join(as_text(item.get("call_id")), as_text(item.get("id")))
                block = ToolCall(id, as_text(item.get("name")), {}, "the arguments are not complete")
                self._json[index] = []
                events.append(CallStart(index, id, block.name))
            case _:
                return []
        self._blocks[index] = block
        self._open.add(index)
        for known in (_place(position), as_text(item.get("id"))):
            if known not in (None, ""):
                self._known[known] = index
        return events

    def _delta(self, index: int, kind: str, data: dict[str, Any]) -> list[StreamEvent]:
        piece = as_text(data.get("delta"))
        match kind, self._blocks[index]:
            case "response.output_text.delta" | "response.refusal.delta", Text(before):
                self._blocks[index] = Text(before + piece)
                return [TextDelta(index, piece)]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta", Thinking() as block:
                return self._think(index, block, piece)
            case "response.reasoning_summary_part.added", Thinking(before) as block if before:
                return self._think(index, block, "\n\n")
            case "response.function_call_arguments.delta", ToolCall():
                return self._argue(index, piece)
            case "response.function_call_arguments.done", ToolCall() if not self._json[index]:
                return self._argue(index, as_text(data.get("arguments")))
            case _:
                return []

    def _think(self, index: int, block: Thinking, piece: str) -> list[StreamEvent]:
        self._blocks[index] = replace(block, thinking=block.thinking + piece)
        return [ThinkingDelta(index, piece)]

    def _argue(self, index: int, piece: str) -> list[StreamEvent]:
        if not piece:
            return []
        self._json[index].append(piece)
        return [CallDelta(index, piece)]

    def _done(self, position: object, item: dict[str, Any]) -> list[StreamEvent]:
        index = self._find({"output_index": position, "item_id": item.get("id")})
        if index is None or index not in self._open:
            return []
        events: list[StreamEvent] = []
        match self._blocks[index]:
            case Text("") if text := _joined(item.get("content"), "text", "refusal"):
                self._blocks[index] = Text(text)
                events.append(TextDelta(index, text))
            case Thinking(thinking) as block:
                if not thinking and (text := _joined(item.get("summary"), "text")):
                    events += self._think(index, block, text)
                kept = {key: item[key] for key in ("type", "id", "summary", "encrypted_content") if item.get(key)}
                if "encrypted_content" in kept:
                    signature = json.dumps({"summary": []} | kept, ensure_ascii=False, separators=(",", ":"))
                    self._blocks[index] = Thinking(thinking or _joined(item.get("summary"), "text"), signature)
            case ToolCall() as call:
                if not call.name:
                    self._blocks[index] = replace(call, name=as_text(item.get("name")))
                if not self._json[index]:
                    events += self._argue(index, as_text(item.get("arguments")))
            case _:
                pass
        return events + self._close(index)

    def _close(self, index: int) -> list[StreamEvent]:
        self._open.discard(index)
        block = self._blocks[index]
        if isinstance(block, ToolCall):
            call = parse_call(block.id, block.name, "".join(self._json[index]))
            block = self._blocks[index] = called(call, self.schemas)
        return [BlockEnd(index, block)]

    def _count(self, usage: dict[str, Any]) -> None:
        """Set the counts. The vendor includes tokens read from and written to the cache in the input."""
        details = as_object(usage.get("input_tokens_details"))
        cached, written = as_count(details.get("cached_tokens")), as_count(details.get("cache_write_tokens"))
        total = as_count(usage.get("input_tokens"))
        output = as_count(usage.get("output_tokens"))
        thought = as_count(as_object(usage.get("output_tokens_details")).get("reasoning_tokens"))
        self._usage = Usage(max(total - cached - written, 0), output, cached, written, usage, thought)


def _place(value: object) -> int | None:
    """Return an item's index, None if the value is not an integer."""
    return value if isinstance(value, int) else None


def _without_type(data: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in data.items() if key != "type"}


def _join(call_id: str, item_id: str) -> str:
    return f"{call_id}|{item_id}" if item_id else call_id


def _joined(parts: object, *keys: str) -> str:
    """Join the texts of a list of parts, read from these keys, with blank lines."""
    if not isinstance(parts, list):
        return ""
    texts = [as_text(part.get(key)) for part in parts if isinstance(part, dict) for key in keys]
    return "\n\n".join(text for text in texts if text)
