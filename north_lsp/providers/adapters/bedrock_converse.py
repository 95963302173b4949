"""Amazon Bedrock's Converse API over plain HTTP: one form for the models of all makers that Bedrock serves. Imported
only when it is used.

What a model takes beyond text depends on its maker: how it thinks, where pictures of results stand, whether prompts are
cached. The maker is in the model's id; an ARN does not name it, and then the id in the catalog does.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Literal
from urllib.parse import quote

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters import claude_rules, wire
from north_lsp.providers.adapters.aws_event_stream import AwsEventStreamDecoder, named_event
from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.converse_answer import ConverseAnswer, read_hidden_thinking
from north_lsp.providers.adapters.failures import Refused, describe
from north_lsp.providers.adapters.json_text import sent_id, sent_name
from north_lsp.providers.adapters.message_cache import KeptTexts, encode
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    Image,
    Message,
    ModelRequest,
    Reasoning,
    StreamEvent,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from north_lsp.providers.compat import Compat
from north_lsp.providers.json_values import as_object

_CACHE_POINT = {"cachePoint": {"type": "default"}}
_PICTURES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_MOST_PICTURES = 20
_OMITTED = f"[image omitted: this model accepts only PNG, JPEG, GIF and WebP, and {_MOST_PICTURES} in a message]"
# The vendor refuses texts and messages without words.
_NO_WORDS = "[empty]"
_SCHEMA_OF_AMAZON = ("type", "properties", "required")


class ConverseProvider:
    """One client for a model; `wire_id` is sent in place of the catalog's id. `secret` is a bearer token; without one,
    `http` signs the requests."""

    def __init__(
        self,
        connection: Connection,
        *,
        compat: Compat | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        self._connection = connection
        self._address = connection.address.rstrip("/")
        self._compat = compat or Compat()
        self._extra = {**self._compat.extra_body, **connection.extra_body}
        self._note = note
        self._headers = {"Content-Type": "application/json", "Accept": "application/vnd.amazon.eventstream"}
        if connection.secret is not None:
            self._headers["Authorization"] = f"Bearer {connection.secret}"
        self._kept: KeptTexts[_Fold] = KeptTexts()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer, wire_id = ConverseAnswer(), self._connection.id_of(request.model)
        url = f"{self._address}/model/{quote(wire_id, safe=':')}/converse-stream"
        decoder = partial(AwsEventStreamDecoder, named_event)
        endpoint, model = self._connection.endpoint, request.model
        while True:
            form = _form(request.model, wire_id, self._compat)
            key = (request.conversation_id, request.model)
            kept = self._kept.take(key, request.messages, partial(_Fold, request.model, form))
            body = _with(_body(request, kept.fold.sent, form, self._compat), self._extra)
            content = encode(body, "messages", kept.texts(_points(kept.fold.sent, form)))
            post = partial(wire.send, self._connection.http, url, content, self._headers)
            try:
                async with aclosing(wire.stream(post, answer, self._connection, model, decoder)) as events:
                    async for event in events:
                        yield event
                return
            except Refused as error:
                if not (form.caches and _refuses_caching(error)):
                    yield wire.refusal(error, endpoint, model, answer.partial("error"))
                    return
                self._compat = replace(self._compat, supports_cache_points=False)
                if self._note is not None:
                    step = "set compat {supportsCachePoints: false} in models.yml"
                    self._note(f"{endpoint.title} does not cache prompts for this model: {step}")

    async def aclose(self) -> None:
        await self._connection.http.aclose()


def _refuses_caching(error: Refused) -> bool:
    return error.status in (400, 403) and "prompt caching" in describe(error.body, error.raw)[1].lower()


def _with(body: Mapping[str, Any], extra: Mapping[str, object]) -> dict[str, Any]:
    """Return the request with further fields; those within an object are added to what is there."""
    added: dict[str, Any] = {}
    for key, value in extra.items():
        there = body.get(key)
        added[key] = there | value if isinstance(there, dict) and isinstance(value, dict) else value
    return {**body, **added}


# -- the request ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """What a model takes: by its maker, and whether its prompts are cached."""

    maker: Literal["anthropic", "amazon", "another"]
    caches: bool


def _form(model: str, wire_id: str, compat: Compat) -> _Form:
    is_named = not wire_id.startswith("arn:")
    name = (wire_id if is_named else f"{wire_id} {model}").lower()
    maker: Literal["anthropic", "amazon", "another"] = "another"
    if "anthropic." in name or "claude" in name:
        maker = "anthropic"
    elif "amazon.nova" in name or (not is_named and "nova-" in model.lower()):
        maker = "amazon"
    caches = compat.supports_cache_points
    return _Form(maker, maker != "another" if caches is None else caches)


def request_body(request: ModelRequest, wire_id: str, compat: Compat | None = None) -> dict[str, Any]:
    """Return the request as JSON. The same conversation gives the same bytes, and a longer one begins with them."""
    flags = compat or Compat()
    form = _form(request.model, wire_id, flags)
    fold = _Fold(request.model, form)
    for message in request.messages:
        fold.add(message)
    points = _points(fold.sent, form)
    messages = [points.get(index, message) for index, message in enumerate(fold.sent)]
    return _body(request, fold.sent, form, flags) | {"messages": messages}


def _body(request: ModelRequest, messages: Sequence[dict[str, Any]], form: _Form, compat: Compat) -> dict[str, Any]:
    """Return the request without its messages."""
    point = [_CACHE_POINT] if form.caches else []
    thinking, config = _thinking(request, messages, form, compat), {"maxTokens": request.max_output}
    if thinking.get("reasoningConfig", {}).get("maxReasoningEffort") == "high":
        config = {}  # Amazon's models then decide themselves how long an answer is, and refuse a limit
    tools = [_tool(tool, form) for tool in request.tools] or _tools_of(messages)
    body: dict[str, Any] = {
        "inferenceConfig": config,
        # Tools come before the system text in the vendor's order, so this one point keeps both.
        "system": [{"text": request.system}, *point] if request.system.strip() else [],
        "toolConfig": {"tools": tools} if tools else {},
        "additionalModelRequestFields": thinking,
    }
    return {key: value for key, value in body.items() if value}


def _thinking(request: ModelRequest, messages: Sequence[dict[str, Any]], form: _Form, compat: Compat) -> dict[str, Any]:
    """Return the model's own fields that say how much a model thinks, in its maker's own words."""
    fields: dict[str, Any]
    reasoning: Reasoning = request.reasoning
    effort = reasoning.effort and compat.reasoning_effort_map.get(reasoning.effort, reasoning.effort)
    is_off = effort in (None, "", "none")
    match form.maker:
        case "anthropic":
            is_free = claude_rules.tool_loop_can_think(messages, _has_calls, _has_results, _begins_with_thinking)
            may_think = claude_rules.LEAST_BUDGET <= reasoning.budget < request.max_output and is_free
            fields = {"thinking": {"type": "enabled", "budget_tokens": reasoning.budget}} if may_think else {}
        case "amazon":
            fields = {} if is_off else {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}}
        case "another":
            fields = {} if is_off else {"reasoning_effort": effort}
    return fields


def _tool(tool: ToolSpec, form: _Form) -> dict[str, Any]:
    schema = dict(tool.schema)
    if form.maker == "amazon":
        schema = {key: _written_out(schema[key], schema) for key in _SCHEMA_OF_AMAZON if key in schema}
    spec = {"name": tool.name, "description": tool.description or tool.name, "inputSchema": {"json": schema}}
    return {"toolSpec": spec}


def _written_out(value: Any, root: Mapping[str, Any], within: tuple[str, ...] = ()) -> Any:
    """Return a part of a schema with definitions in the place of references to them. Where one refers to itself, any
    value is allowed."""
    if isinstance(value, list):
        return [_written_out(one, root, within) for one in value]
    if not isinstance(value, dict):
        return value
    written = {key: _written_out(one, root, within) for key, one in value.items() if key != "$ref"}
    reference = value.get("$ref")
    if not isinstance(reference, str):
        return {**written, **({"$ref": _written_out(reference, root, within)} if "$ref" in value else {})}
    found = as_object(root.get("$defs", root.get("definitions"))).get(reference.rpartition("/")[2])
    if found is None or reference in within:
        return written
    return _written_out(found, root, (*within, reference)) | written


def _tools_of(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tools for a request that offers none: the vendor refuses calls in a conversation without any."""
    blocks = [part["toolUse"] for message in messages for part in message["content"] if "toolUse" in part]
    return [
        {"toolSpec": {"name": name, "description": "Not available now.", "inputSchema": {"json": {"type": "object"}}}}
        for name in dict.fromkeys(block["name"] for block in blocks)
    ]


class _Fold:
    """Messages in the vendor's form, for one model: roles alternate, so neighbors of one role are one message."""

    def __init__(self, model: str, form: _Form) -> None:
        self._model, self._form = model, form
        self.sent: list[dict[str, Any]] = []

    def add(self, message: Message) -> None:
        match message:
            case UserMessage(text, images):
                words = [{"text": text}] if text.strip() else []
                content = self._content("user")
                content += [*_pictures(images, content), *words] or [{"text": _NO_WORDS}]
            case AssistantMessage(blocks):
                is_own = message.model in ("", self._model)
                parts = [part for block in blocks if (part := _part(block, is_own)) is not None]
                if parts:
                    self._content("assistant").extend(parts)
            case ToolResult():
                self._add_result(message)

    def _content(self, role: str) -> list[dict[str, Any]]:
        if not self.sent or self.sent[-1]["role"] != role:
            self.sent.append({"role": role, "content": []})
        content: list[dict[str, Any]] = self.sent[-1]["content"]
        return content

    def _add_result(self, message: ToolResult) -> None:
        """Add a result behind the others. Pictures stand in it, for models whose results may have any, and else at the
        end of the message; with an error, there are none."""
        content = self._content("user")
        within = self._form.maker != "another"
        pictures = [] if message.is_error else _pictures(message.images, content)
        shown = [{"text": message.text}] if message.text.strip() else []
        shown += pictures if within else []
        result: dict[str, Any] = {"toolUseId": sent_id(message.call_id), "content": shown or [{"text": _NO_WORDS}]}
        if within:
            result["status"] = "error" if message.is_error else "success"
        content.insert(sum("toolResult" in part for part in content), {"toolResult": result})
        content += [] if within else pictures


def _part(block: Block, is_own: bool) -> dict[str, Any] | None:
    """Return the block in the vendor's form, None if it cannot be sent back: blank text, and thinking that is unsigned
    or another model's."""
    match block:
        case Text(text):
            return {"text": text} if text.strip() else None
        case Thinking(_, _, redacted) if redacted is not None:
            data = read_hidden_thinking(redacted) if is_own else ""
            return {"reasoningContent": {"redactedContent": data}} if data else None
        case Thinking(thinking, signature):
            if not signature or signature.startswith("{") or not is_own:
                return None
            return {"reasoningContent": {"reasoningText": {"text": thinking, "signature": signature}}}
        case ToolCall(id, name, arguments):
            return {"toolUse": {"toolUseId": sent_id(id), "name": sent_name(name), "input": dict(arguments)}}


def _pictures(images: Sequence[Image], content: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return pictures for a message that has this content already."""
    known = [
        {"image": {"format": _PICTURES[image.mime_type], "source": {"bytes": image.data}}}
        for image in images
        if image.mime_type in _PICTURES
    ][: _MOST_PICTURES - sum("image" in part for part in content)]
    return known if len(known) == len(images) else [*known, {"text": _OMITTED}]


def _has_calls(message: Mapping[str, Any]) -> bool:
    return any("toolUse" in part for part in message["content"])


def _has_results(message: Mapping[str, Any]) -> bool:
    return all("toolResult" in part for part in message["content"])


def _begins_with_thinking(message: Mapping[str, Any]) -> bool:
    return "reasoningContent" in message["content"][0]


def _points(messages: Sequence[dict[str, Any]], form: _Form) -> dict[int, dict[str, Any]]:
    """Return the messages, by index, that end in a point up to which the vendor should cache: the last one, and the
    last of the request before if the vendor would not find that, since the answer with its results is too long."""
    if not form.caches or not messages:
        return {}
    before = claude_rules.end_of_cached(messages)
    ends = [len(messages) - 1, *([before] if before is not None else [])]
    return {
        index: messages[index] | {"content": [*messages[index]["content"], _CACHE_POINT]}
        for index in ends
        if messages[index]["role"] == "user"
    }
