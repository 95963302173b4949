"""Anthropic's Messages API through the official SDK. Imported only when it is used: the SDK is heavy."""

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import anthropic
import httpx2
from anthropic.types import RawMessageStreamEvent

from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    ErrorKind,
    Failed,
    Message,
    ModelRequest,
    StopReason,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    Timeouts,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from north_lsp.providers.hints import retry_after_ms

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
    "refusal": "refusal",
}
_KINDS: dict[int, ErrorKind] = {401: "auth", 402: "quota_exhausted", 403: "auth", 429: "rate_limit"}
_IN_STREAM_KINDS: dict[str, ErrorKind] = {
    "overloaded_error": "overloaded",
    "api_error": "overloaded",
    "rate_limit_error": "rate_limit",
    "authentication_error": "auth",
    "permission_error": "auth",
    "billing_error": "quota_exhausted",
}
_RETRYABLE: frozenset[ErrorKind] = frozenset({"network", "rate_limit", "overloaded"})


class AnthropicProvider:
    """One client per model in use; `secret` is an API key, or a bearer token."""

    def __init__(self, secret: str, base_url: str | None, timeouts: Timeouts, *, is_token: bool = False) -> None:
        self._timeouts = timeouts
        self._client = anthropic.AsyncAnthropic(
            api_key=None if is_token else secret,
            auth_token=secret if is_token else None,
            base_url=base_url,
            max_retries=0,  # whoever asked decides, and shows it
            timeout=httpx2.Timeout(timeouts.request, connect=timeouts.connect, read=timeouts.idle),
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        answer = _Answer()
        try:
            events = await self._client.messages.create(
                model=request.model,
                max_tokens=request.max_output,
                system=[{"type": "text", "text": request.system}],
                messages=_to_wire(request.messages),
                tools=[
                    {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
                    for tool in request.tools
                ],
                # The vendor sets the breakpoint at the end of the request, so that requests stay prefixes of the next.
                cache_control={"type": "ephemeral"},
                stream=True,
            )
            async with events:
                if (problem := self._no_stream(events.response)) is not None:
                    yield _failure("bad_request", problem, answer.partial("error"))
                    return
                async for event in events:
                    for out in answer.take(event):
                        yield out
        except anthropic.APIStatusError as error:
            yield _status_failure(error, answer.partial("error"))
            return
        except anthropic.APITimeoutError:
            yield _failure("network", self._timed_out(), answer.partial("error"))
            return
        except anthropic.APIConnectionError as error:
            text = f"the model could not be reached at {self._client.base_url}: {_cause(error)}"
            yield _failure("network", text, answer.partial("error"))
            return
        except anthropic.APIError as error:
            yield _in_stream_failure(error, answer.partial("error"))
            return
        except httpx2.TimeoutException:
            yield _failure("network", self._timed_out(), answer.partial("error"))
            return
        except httpx2.HTTPError as error:
            yield _failure("network", f"the model's stream broke: {_cause(error)}", answer.partial("error"))
            return
        except json.JSONDecodeError as error:
            yield _failure("network", f"the model's stream is not valid: {error.msg}", answer.partial("error"))
            return
        if answer.stop_reason is None or answer.open:
            yield _failure("network", "the model's stream ended early", answer.partial("error"))
        else:
            reason = _STOP_REASONS.get(answer.stop_reason, "toolUse" if answer.has_calls else "stop")
            yield Done(reason, answer.partial(reason))

    def _timed_out(self) -> str:
        return f"the model sent nothing for {self._timeouts.idle:g} s"

    def _no_stream(self, response: Any) -> str | None:
        """What is wrong with an answer that no model server gives."""
        type = response.headers.get("content-type", "nothing").partition(";")[0]
        if type == "text/event-stream":
            return None
        return (
            f"{self._client.base_url} answered {type} instead of a stream: it is no server of Anthropic's API;"
            " check ANTHROPIC_BASE_URL"
        )

    async def aclose(self) -> None:
        await self._client.close()


class _Answer:
    """The message so far, always equal to what has been emitted."""

    def __init__(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._json: dict[int, list[str]] = {}
        self.open: set[int] = set()
        self.stop_reason: str | None = None
        self._usage = Usage()

    @property
    def has_calls(self) -> bool:
        return any(isinstance(block, ToolCall) for block in self._blocks.values())

    def partial(self, reason: Any) -> AssistantMessage:
        return AssistantMessage(tuple(self._blocks[index] for index in sorted(self._blocks)), reason, self._usage)

    def take(self, event: RawMessageStreamEvent) -> list[StreamEvent]:
        match event.type:
            case "message_start":
                self._count(event.message.usage)
            case "message_delta":
                self._count(event.usage)
                self.stop_reason = event.delta.stop_reason or self.stop_reason
            case "content_block_start":
                return self._start(event.index, event.content_block)
            case "content_block_delta":
                return self._delta(event.index, event.delta)
            case "content_block_stop":
                return self._end(event.index)
            case _:
                pass
        return []

    def _start(self, index: int, block: Any) -> list[StreamEvent]:
        match block.type:
            case "text":
                self._blocks[index] = Text(block.text or "")
                self.open.add(index)
                return [TextDelta(index, block.text)] if block.text else []
            case "thinking":
                self._blocks[index] = Thinking(block.thinking or "")
                self.open.add(index)
            case "redacted_thinking":
                self._blocks[index] = Thinking("", redacted=block.data)
            case "tool_use":
                self._blocks[index] = ToolCall(block.id, block.name, {})
                self._json[index] = []
                self.open.add(index)
                return [CallStart(index, block.id, block.name)]
            case _:
                pass
        return []

    def _delta(self, index: int, delta: Any) -> list[StreamEvent]:
        match delta.type, self._blocks.get(index):
            case "text_delta", Text(text):
                self._blocks[index] = Text(text + delta.text)
                return [TextDelta(index, delta.text)]
            case "thinking_delta", Thinking(thinking, signature):
                self._blocks[index] = Thinking(thinking + delta.thinking, signature)
                return [ThinkingDelta(index, delta.thinking)]
            case "signature_delta", Thinking(thinking, signature):
                self._blocks[index] = Thinking(thinking, (signature or "") + delta.signature)
            case "input_json_delta", ToolCall():
                self._json[index].append(delta.partial_json)
                return [CallDelta(index, delta.partial_json)]
            case _:
                pass
        return []

    def _end(self, index: int) -> list[StreamEvent]:
        self.open.discard(index)
        block = self._blocks.get(index)
        if block is None:
            return []
        if isinstance(block, ToolCall):
            block = self._blocks[index] = parse_call(block.id, block.name, "".join(self._json[index]))
        return [BlockEnd(index, block)]

    def _count(self, usage: Any) -> None:
        """Later counts replace earlier ones; what a message leaves out stays."""
        old = self._usage
        self._usage = Usage(
            _number(usage.input_tokens, old.input),
            _number(usage.output_tokens, old.output),
            _number(usage.cache_read_input_tokens, old.cache_read),
            _number(usage.cache_creation_input_tokens, old.cache_write),
        )


def _number(value: int | None, before: int) -> int:
    return before if value is None else max(value, 0)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON value")


def parse_call(id: str, name: str, text: str) -> ToolCall:
    """A complete call; `problem` says where its arguments stop being a JSON object."""
    try:
        arguments = json.loads(text or "{}", parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return ToolCall(id, name, {}, f"the arguments are not valid JSON: {error.msg} at character {error.pos}")
    except (ValueError, RecursionError) as error:
        return ToolCall(id, name, {}, f"the arguments are not valid JSON: {error}")
    if not isinstance(arguments, dict):
        return ToolCall(id, name, {}, "the arguments are not a JSON object")
    return ToolCall(id, name, arguments)


def _to_wire(messages: Sequence[Message]) -> list[Any]:
    wire: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage(text):
                wire.append({"role": "user", "content": [{"type": "text", "text": text}]})
            case AssistantMessage(blocks):
                wire.append({"role": "assistant", "content": [part for block in blocks if (part := _block(block))]})
            case ToolResult(call_id, _, text, is_error):
                result = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}
                if wire and wire[-1]["role"] == "user" and wire[-1]["content"][0]["type"] == "tool_result":
                    wire[-1]["content"].append(result)
                else:
                    wire.append({"role": "user", "content": [result]})
    return wire


def _block(block: Block) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case Thinking(_, _, redacted) if redacted is not None:
            return {"type": "redacted_thinking", "data": redacted}
        case Thinking(thinking, signature):
            return {"type": "thinking", "thinking": thinking, "signature": signature} if signature else None
        case ToolCall(id, name, arguments):
            return {"type": "tool_use", "id": id, "name": name, "input": dict(arguments)}


def _cause(error: BaseException) -> str:
    """The innermost reason, which is the one that helps."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error) or type(error).__name__


def _failure(
    kind: ErrorKind,
    message: str,
    partial: AssistantMessage,
    status: int | None = None,
    retry_after_ms: int | None = None,
) -> Failed:
    return Failed(kind, message, partial, status, kind in _RETRYABLE, retry_after_ms)


def _error_text(body: object, fallback: str) -> tuple[str, str]:
    """The vendor's error type and message."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", fallback
    return str(error.get("type", "")), str(error.get("message") or fallback)


def _status_failure(error: anthropic.APIStatusError, partial: AssistantMessage) -> Failed:
    type, text = _error_text(error.body, error.message)
    status = error.status_code
    if status == 200:
        return _in_stream_failure(error, partial)
    kind = _KINDS.get(status) or ("overloaded" if status >= 500 or status == 408 else "bad_request")
    if kind == "bad_request" and "prompt is too long" in text:
        kind = "context_overflow"
    hint = "; check the key" if kind == "auth" else ""
    wait = retry_after_ms(error.response.headers)
    return _failure(kind, f"the model answered {status} {type}: {text}{hint}".replace("  ", " "), partial, status, wait)


def _in_stream_failure(error: anthropic.APIError, partial: AssistantMessage) -> Failed:
    type, text = _error_text(error.body, error.message)
    return _failure(_IN_STREAM_KINDS.get(type, "bad_request"), f"the model reported an error: {text}", partial)
