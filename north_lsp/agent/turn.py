"""One turn: model ↔ tools until the model stops. Whatever happens on the way, the log is left whole."""

import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Literal, assert_never

import anyio

from north_lsp.agent.calls import Calls
from north_lsp.agent.context import build_request
from north_lsp.agent.deltas import DeltaMerger
from north_lsp.agent.events import AnswerDelta, CallNamed, CallReady, UsageChanged
from north_lsp.agent.results import StopTurn
from north_lsp.agent.state import TurnState
from north_lsp.agent.transcript import block_to_log
from north_lsp.display import one_line
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Failed,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    Usage,
)

Stopped = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]

MAX_REQUESTS = 200
_PARTIAL_SECONDS = 2.0
_CANCELLED_MARK = "[Cancelled]"
_NOT_COMPLETE = "the answer was cut off before the arguments were complete"


class ModelFailed(Exception):
    """The model gave no answer. The log and the editor have been told; `failure` is for whoever ends the prompt."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class _Streamed:
    """The answer while it arrives."""

    started: float
    saved_at: float
    blocks: dict[int, Block] = field(default_factory=dict)

    def message(self) -> AssistantMessage:
        return AssistantMessage(tuple(self.blocks[index] for index in sorted(self.blocks)))


class Turn:
    """Runs once. The prompt is already in the log."""

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._calls = Calls(state)
        self._unfinished: list[ToolCall] = []

    async def run(self) -> Stopped:
        """Until the model stops or the caller cancels. Raises ModelFailed."""
        try:
            for _ in range(MAX_REQUESTS):
                answer = await self._ask()
                if not answer.calls:
                    return _stop_reason(answer)
                self._unfinished = list(answer.calls)
                await self._calls.run(answer.calls)
                self._unfinished = []
        except StopTurn:
            return "cancelled"
        return "max_turn_requests"

    async def wind_up(self) -> None:
        """After the end, however it came: every call that was begun has its result, every question its decision. The
        caller shields this."""
        self._state.conversation.resolve_pending()
        await self._calls.wind_up(self._unfinished)
        self._unfinished = []

    async def _ask(self) -> AssistantMessage:
        state = self._state
        request = build_request(
            state.model,
            state.system,
            state.conversation.active_path(),
            state.tools.specs(state.mode),
            state.conversation.id,
        )
        entry_id = state.conversation.reserve_id()
        started = time.monotonic()
        streamed = _Streamed(started, started)
        merger = DeltaMerger(entry_id, state.editor.show)
        state.diagnostics.event("model_request_start", model=state.model.selector, tools=len(request.tools))
        end: Done | Failed | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(merger.run)
                async with aclosing(state.provider.stream(request)) as events:
                    async for event in events:
                        if isinstance(event, Done | Failed):
                            end = event
                            break
                        await self._take(event, streamed, merger, entry_id)
                await merger.flush()
                tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await merger.flush()
                await self._keep_cancelled(streamed, entry_id)
            raise
        except Exception as error:  # noqa: BLE001 - whatever a provider does wrong, what was shown is kept
            state.on_failure("model stream", error)
            end = Failed("network", "the model's stream could not be read; see North's log", streamed.message())
        duration = round((time.monotonic() - started) * 1000)
        match end:
            case Done(_, message):
                self._store(message, entry_id, duration)
                await self._report_usage(message.usage, duration)
                return message
            case Failed():
                await self._keep_failed(end, entry_id, duration)
                raise ModelFailed(end)
            case None:
                broken = Failed("network", "the model's stream ended early", streamed.message(), retryable=True)
                await self._keep_failed(broken, entry_id, duration)
                raise ModelFailed(broken)
            case _:
                assert_never(end)

    async def _take(self, event: object, streamed: _Streamed, merger: DeltaMerger, entry_id: str) -> None:
        blocks = streamed.blocks
        match event:
            case TextDelta(index, text):
                before = blocks.get(index)
                blocks[index] = Text((before.text if isinstance(before, Text) else "") + text)
                await merger.add(text, thinking=False)
            case ThinkingDelta(index, text):
                before = blocks.get(index)
                blocks[index] = Thinking((before.thinking if isinstance(before, Thinking) else "") + text)
                await merger.add(text, thinking=True)
            case CallStart(index, id, name):
                await merger.flush()
                call = ToolCall(id, name, {}, _NOT_COMPLETE)
                tool = self._state.tools.find(name)
                kind = tool.kind if tool is not None else "other"
                await self._state.editor.show(CallNamed(id, one_line(name), kind, self._calls.title(call)))
                blocks[index] = call
            case BlockEnd(index, block):
                blocks[index] = block
                if isinstance(block, ToolCall):
                    await merger.flush()
                    title = self._calls.title(block)
                    await self._state.editor.show(CallReady(block.id, title, dict(block.arguments)))
            case CallDelta():
                pass
        now = time.monotonic()
        if now - streamed.saved_at >= _PARTIAL_SECONDS:
            streamed.saved_at = now
            message = self._log_form(streamed.message(), "aborted", round((now - streamed.started) * 1000))
            await anyio.to_thread.run_sync(self._state.conversation.save_partial, message, entry_id)

    # -- keeping what arrived ----------------------------------------------------------------------------------------

    def _log_form(self, message: AssistantMessage, reason: str, duration_ms: int) -> dict[str, Any]:
        usage, model = message.usage, self._state.model
        return {
            "role": "assistant",
            "provider": model.provider.id,
            "model": model.id,
            "api": model.provider.api,
            "content": [block_to_log(block) for block in message.blocks],
            "usage": {
                "input": usage.input,
                "output": usage.output,
                "cacheRead": usage.cache_read,
                "cacheWrite": usage.cache_write,
                "cost": {"total": model.prices.cost(usage)},
            },
            "stopReason": reason,
            "durationMs": duration_ms,
            "timestamp": self._state.milliseconds(),
        }

    def _store(self, message: AssistantMessage, entry_id: str, duration_ms: int, error: str | None = None) -> None:
        reason = "stop" if message.stop_reason == "refusal" else message.stop_reason
        stored = self._log_form(message, reason, duration_ms)
        if error is not None:
            stored["errorMessage"] = error
        self._state.conversation.append("message", entry_id=entry_id, message=stored)
        self._state.conversation.clear_partial()

    async def _keep_cancelled(self, streamed: _Streamed, entry_id: str) -> None:
        message = streamed.message()
        if not message.blocks:
            return
        if isinstance(message.blocks[-1], Text):
            mark = f" {_CANCELLED_MARK}"
            message = replace(message, blocks=(*message.blocks[:-1], Text(message.blocks[-1].text + mark)))
            await self._state.editor.show(AnswerDelta(entry_id, mark))
        duration = round((time.monotonic() - streamed.started) * 1000)
        self._store(replace(message, stop_reason="aborted"), entry_id, duration)
        self._unfinished = list(message.calls)

    async def _keep_failed(self, end: Failed, entry_id: str, duration_ms: int) -> None:
        self._state.diagnostics.event(
            "model_request_error", kind=end.kind, status=end.status, retryable=end.retryable, durationMs=duration_ms
        )
        self._store(replace(end.partial, stop_reason="error"), entry_id, duration_ms, end.message)
        await self._state.editor.show(AnswerDelta(entry_id, error_text(end.message, bool(end.partial.text))))
        self._unfinished = list(end.partial.calls)

    async def _report_usage(self, usage: Usage, duration_ms: int) -> None:
        self._state.diagnostics.event(
            "model_request_complete", model=self._state.model.selector, durationMs=duration_ms, output=usage.output
        )
        event = usage_of(self._state.conversation.active_path(), self._state.model.window)
        if event is not None:
            await self._state.editor.show(event)


def error_text(message: str, after_text: bool) -> str:
    """How a model's failure stands in the conversation."""
    gap = "\n\n" if after_text else ""
    return f"{gap}**The model gave no complete answer:** {message}"


def usage_of(path: list[dict[str, Any]], window: int) -> UsageChanged | None:
    """Use and cost of a conversation by its log: the context is what the last answer had read and written."""
    used, cost = None, 0.0
    for entry in path:
        message = entry.get("message") or {}
        if entry.get("type") == "message" and message.get("role") == "assistant" and message.get("usage"):
            usage = message["usage"]
            cost += usage.get("cost", {}).get("total", 0.0)
            total = sum(usage.get(key, 0) for key in ("input", "output", "cacheRead", "cacheWrite"))
            used = total or used
    return None if used is None else UsageChanged(used, window, cost)


def _stop_reason(answer: AssistantMessage) -> Stopped:
    match answer.stop_reason:
        case "length":
            return "max_tokens"
        case "refusal":
            return "refusal"
        case _:
            return "end_turn"
