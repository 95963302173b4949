"""One answer of the model: streamed to the editor, kept in the log whatever happens, asked for again where it helps."""

import math
import re
import time
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import anyio
import anyio.to_thread

from north_lsp.agent.call_ids import UniqueIds
from north_lsp.agent.calls import Calls
from north_lsp.agent.context import build_request
from north_lsp.agent.deltas import DeltaMerger
from north_lsp.agent.edit_guard import StreamingCall, cannot_apply
from north_lsp.agent.estimates import estimated_usage
from north_lsp.agent.events import AnswerDelta, CallNamed, CallReady, CallTitled, FellBack, Notice, RetryEnded, Retrying
from north_lsp.agent.file_blocks import FileBlocks
from north_lsp.agent.images import has_images, with_images
from north_lsp.agent.previews import GrowingCall, Previews
from north_lsp.agent.retry import GiveUp, Retries, Wait
from north_lsp.agent.state import TurnState
from north_lsp.agent.transcript import block_to_log
from north_lsp.agent.usage import usage_of
from north_lsp.display import one_line
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Failed,
    ModelRequest,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from north_lsp.providers.catalog import MissingCredential
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.base import WriteTool

_PARTIAL_SECONDS = 2.0
_CANCELLED_MARK = "[Cancelled]"
_ORPHAN = re.compile(
    r"tool_use.{0,40}ids were found without.{0,60}?tool_result.{0,60}?\b(toolu_\w+)"
    r"|[Nn]o tool output found for function call ([\w-]+)"
    r"|tool_call_ids? did not have response messages: ([\w-]+)"
)
_NOT_COMPLETE = "the answer was cut off before the arguments were complete"


class ModelFailed(Exception):
    """The model gave no answer. The log and the editor have been told; `failure` is for whoever ends the prompt."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class _Streamed:
    """The answer while it arrives; `began` when its stream did, `delivered` when the user has seen some of it."""

    entry_id: str
    started: float
    saved_at: float
    blocks: dict[int, Block] = field(default_factory=dict)
    began: bool = False
    delivered: bool = False
    broke_in_file: bool = False
    calls: dict[int, StreamingCall] = field(default_factory=dict)
    growing: dict[int, GrowingCall] = field(default_factory=dict)
    cut_short: bool = False  # by North: a call that cannot succeed was still coming

    def message(self) -> AssistantMessage:
        return AssistantMessage(tuple(self.blocks[index] for index in sorted(self.blocks)))

    @property
    def duration_ms(self) -> int:
        return round((time.monotonic() - self.started) * 1000)


class Asking:
    """Asks for the answers of one turn. `unfinished` are calls of an answer that was cancelled or failed: they still
    need their results."""

    def __init__(self, state: TurnState, calls: Calls, files: FileBlocks) -> None:
        self._state = state
        self._calls = calls
        self._files = files
        self._retries = Retries(state.retry)
        self._model, self._provider = state.model, state.provider
        self._chosen = state.chosen()
        self._request: ModelRequest | None = None
        self._previews = Previews(state.editor.show, state.on_failure)
        self._estimated = False  # what the last answer used
        self._recovered = False  # from a call that the vendor took for one without a result
        self._attempt = 0  # of asking again
        self._fell_from = ""  # the model that another one answers for
        self.unfinished: list[ToolCall] = []

    async def ask(self) -> AssistantMessage:
        """The next answer, stored and shown. Raises ModelFailed."""
        await self._state.spending.check(self._spent)
        while True:
            await self._follow_choice()
            streamed, end = await self._stream()
            if isinstance(end, Done):
                end = replace(end, message=self._counted(end.message))
                self._retries.succeeded()
                self._store(end.message, streamed)
                await self._report_usage(end.message.usage, streamed)
                await self._report_recovery()
                return end.message
            if _is_reported(end.partial.usage):
                self._state.costs.record(self._model, end.partial.usage)
            self._state.diagnostics.event(
                "model_request_error",
                kind=end.kind,
                status=end.status,
                retryable=end.retryable,
                durationMs=streamed.duration_ms,
            )
            if not self._recovered and (orphan := _orphan(end)) is not None and self._leave_out(orphan):
                self._recovered = True
                self._state.diagnostics.event("orphaned_tool_recovered", callId=orphan)
                continue
            if streamed.broke_in_file and await self._go_on_later(end, streamed):
                return replace(streamed.message(), stop_reason="length")
            step = self._retries.after(end, started=streamed.began, delivered=streamed.delivered)
            if isinstance(step, GiveUp) and await self._fall_back(end, streamed):
                continue
            if isinstance(step, GiveUp):
                failure = replace(end, message=f"{end.message} ({step.note})") if step.note else end
                await self._keep_failed(failure, streamed)
                await self._report_recovery(failure.message)
                raise ModelFailed(failure)
            if streamed.delivered:
                await self._keep_broken(end, streamed)
            if not await self._wait(step, end):
                failure = replace(end, message=f"{end.message} (cancelled by the user)")
                if not streamed.delivered:
                    await self._keep_failed(failure, streamed)
                await self._report_recovery("cancelled by the user")
                raise ModelFailed(failure)

    async def _follow_choice(self) -> None:
        """Go on with the model that the user has chosen meanwhile, if it can be used; what stands in the way is told
        when it is chosen. Only more or less thinking concerns whichever model answers."""
        before, self._chosen = self._chosen, self._state.chosen()
        if self._chosen.selector == before.selector:
            if self._chosen.level != before.level:
                self._model = self._model.with_level(self._chosen.level)
            return
        try:
            self._provider = await self._state.provider_of(self._chosen)
        except MissingCredential:
            return
        self._model, self._fell_from = self._chosen, ""
        self._retries.succeeded()

    def _spent(self) -> float:
        """What the conversation has cost, in US dollars."""
        usage = usage_of(self._state.conversation.active_path(), self._model.window)
        return usage.cost_usd if usage is not None else 0.0

    def _counted(self, message: AssistantMessage) -> AssistantMessage:
        """With an estimate where the vendor tells no numbers."""
        self._estimated = self._model.provider.api != "offline" and not _is_reported(message.usage)
        if not self._estimated or self._request is None:
            return message
        return replace(message, usage=estimated_usage(self._request, message))

    def _leave_out(self, call_id: str) -> bool:
        """No model gets the answer with this call again, here or in a later turn; whether there is one. It stays in the
        conversation."""
        conversation = self._state.conversation
        for entry in conversation.active_path():
            message = entry.get("message") if entry["type"] == "message" else None
            calls = (message or {}).get("content") or () if (message or {}).get("role") == "assistant" else ()
            if any(block.get("type") == "tool_call" and block.get("id") == call_id for block in calls):
                conversation.annotate("entry_updated", targetId=entry["id"], patch={"excludeFromContext": True})
                return True
        return False

    async def _report_recovery(self, error: str = "") -> None:
        """Tell how the attempts ended, and that another model has answered, where there was anything to tell of."""
        attempt, self._attempt = self._attempt, 0
        if attempt:
            await self._state.editor.show(RetryEnded(not error, attempt, error))
        before, self._fell_from = self._fell_from, ""
        if before and not error:
            await self._state.editor.show(FellBack("succeeded", before, self._model.selector))

    async def _go_on_later(self, end: Failed, streamed: _Streamed) -> bool:
        """An answer that broke off inside a file is not asked for again: what has arrived stands, and is continued."""
        step = self._retries.after(end, started=True, delivered=True)
        if isinstance(step, GiveUp):
            return False
        self._store(replace(streamed.message(), stop_reason="length"), streamed)
        await self._calls.break_off(streamed.message().calls, end.message)
        return await self._wait(step, end)

    async def _fall_back(self, end: Failed, streamed: _Streamed) -> bool:
        """Go on with another model, where the user has named one for this case."""
        found = await self._state.fallback(self._model, end)
        if found is None:
            return False
        if streamed.delivered:
            await self._keep_broken(end, streamed)
        before, (self._model, self._provider) = self._model, found
        self._state.conversation.append("model_change", model=self._model.selector, reason="retry", temporary=True)
        self._state.diagnostics.event("retry_fallback_applied", before=before.selector, after=self._model.selector)
        text = f"{before.title} failed ({end.message}); {self._model.title} answers instead"
        await self._state.editor.show(Notice("warning", text))
        self._fell_from = before.selector
        await self._state.editor.show(FellBack("applied", before.selector, self._model.selector))
        return True

    async def _stream(self) -> tuple[_Streamed, Done | Failed]:
        state = self._state
        request = build_request(
            self._model,
            state.system,
            state.conversation.active_path(),
            state.tools.specs(state.mode),
            state.conversation.id,
        )
        if has_images(request):
            fill = partial(with_images, request, state.checkpoints.content, takes_images=self._model.images)
            request = await anyio.to_thread.run_sync(fill)
        now = time.monotonic()
        await state.status.set("streaming")
        self._request = request
        streamed = _Streamed(state.conversation.reserve_id(), now, now)
        merger = DeltaMerger(streamed.entry_id, state.editor.show, state.settings.turns.flush_ms / 1000)
        self._previews = Previews(state.editor.show, state.on_failure)
        self._files.begin(streamed.entry_id, self._previews)
        state.diagnostics.event("model_request_start", model=self._model.selector, tools=len(request.tools))
        end: Done | Failed | None = None
        ids = UniqueIds(state.conversation.active_path())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(merger.run)
                tasks.start_soon(self._previews.run)
                async with aclosing(self._provider.stream(request)) as events:
                    async for event in events:
                        renamed = ids.rename(event)
                        if isinstance(renamed, Done | Failed):
                            end = renamed
                            break
                        await self._take(renamed, streamed, merger)
                        if streamed.cut_short:
                            end = Done("toolUse", replace(streamed.message(), stop_reason="toolUse"))
                            break
                streamed.broke_in_file = self._files.in_block and not isinstance(end, Done)
                if rest := await self._files.finish():
                    await merger.add(rest, thinking=False)
                await merger.flush()
                tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await merger.flush()
                await self._keep_cancelled(streamed)
            raise
        except Exception as error:  # noqa: BLE001 - whatever a provider does wrong, what was shown is kept
            state.on_failure("model stream", error)
            end = Failed("network", "the model's stream could not be read; see North's log", streamed.message())
        if end is None:
            end = Failed("network", "the model's stream ended early", streamed.message(), retryable=True)
        return streamed, end

    async def _wait(self, step: Wait, failure: Failed) -> bool:
        """Wait before the next try, with a countdown that the user can see and end; False if he gave up."""
        state, control = self._state, self._state.retry_control
        state.diagnostics.event("auto_retry_start", layer=step.layer, attempt=step.attempt, delayMs=step.seconds * 1000)
        id = f"retry-{new_entry_id(())}"
        deadline = anyio.current_time() + step.seconds
        control.aborted = False
        outcome: Literal["over", "stopped"] = "stopped"
        first = True
        self._attempt = step.attempt
        await state.status.set("retrying")
        try:
            while (left := deadline - anyio.current_time()) > 0:
                if step.shown:
                    event = Retrying(id, step.attempt, step.of, math.ceil(left), failure.message, "waiting", first)
                    await state.editor.show(event)
                first = False
                if await control.wait(min(left, 1.0)):
                    break
            outcome = "stopped" if control.aborted else "over"
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._report_recovery("cancelled by the user")
            raise
        finally:
            control.finished()
            if step.shown and not first:
                with anyio.CancelScope(shield=True):
                    await state.editor.show(Retrying(id, step.attempt, step.of, 0, failure.message, outcome))
        return outcome == "over"

    async def _take(self, event: object, streamed: _Streamed, merger: DeltaMerger) -> None:
        blocks = streamed.blocks
        streamed.began = True
        streamed.delivered = streamed.delivered or isinstance(event, TextDelta | ThinkingDelta | CallStart)
        match event:
            case TextDelta(index, text):
                before = blocks.get(index)
                blocks[index] = Text((before.text if isinstance(before, Text) else "") + text)
                if shown := await self._prose(text, merger):
                    await merger.add(shown, thinking=False)
            case ThinkingDelta(index, text):
                before = blocks.get(index)
                blocks[index] = Thinking((before.thinking if isinstance(before, Thinking) else "") + text)
                await merger.add(text, thinking=True)
            case CallStart(index, id, name):
                await merger.flush()
                call = ToolCall(id, name, {}, _NOT_COMPLETE)
                tool = self._state.tools.find(name)
                kind = tool.kind if tool is not None else "other"
                title = self._calls.title(call)
                await self._state.editor.show(CallNamed(id, one_line(name), kind, title))
                blocks[index] = call
                streamed.calls[index] = StreamingCall(id, tool, title=title)
                if isinstance(tool, WriteTool) and self._state.mode == "agent":
                    streamed.growing[index] = GrowingCall(streamed.calls[index], tool, self._state.workspace)
            case BlockEnd(index, block):
                blocks[index] = block
                if isinstance(block, ToolCall):
                    await self._previews.stop()
                    await merger.flush()
                    title = self._calls.title(block)
                    places = self._calls.places(block)
                    await self._state.editor.show(CallReady(block.id, title, dict(block.arguments), places))
            case CallDelta(index, json):
                arriving = streamed.calls.get(index)
                if arriving is not None and arriving.take(json):
                    await self._look_ahead(arriving, index, streamed, merger)
                if (growing := streamed.growing.get(index)) is not None and not streamed.cut_short:
                    self._previews.note(growing)
        now = time.monotonic()
        if now - streamed.saved_at >= _PARTIAL_SECONDS:
            streamed.saved_at = now
            message = self._log_form(streamed.message(), "aborted", round((now - streamed.started) * 1000))
            await anyio.to_thread.run_sync(self._state.conversation.save_partial, message, streamed.entry_id)

    async def _look_ahead(self, call: StreamingCall, index: int, streamed: _Streamed, merger: DeltaMerger) -> None:
        """More arguments are complete: the title may say more, and an edit that cannot apply is not waited for."""
        state, block = self._state, streamed.blocks[index]
        if not isinstance(block, ToolCall):
            return
        known = replace(block, arguments=call.partial.settled)
        title = self._calls.title(known)
        if title != call.title:
            call.title = title
            await merger.flush()
            await state.editor.show(CallTitled(call.id, title))
        if not state.settings.turns.stream_guard or state.mode != "agent":
            return
        earlier = [other for at, other in streamed.blocks.items() if at != index and isinstance(other, ToolCall)]
        if self._files.has_unsettled or (error := await cannot_apply(call, earlier, state.workspace)) is None:
            return
        state.diagnostics.event("edit_stopped_early", callId=call.id, code=error.code)
        self._calls.foresee(call.id, error)
        streamed.blocks[index] = replace(known, problem=None)
        streamed.cut_short = True
        await self._previews.stop()
        await merger.flush()
        await state.editor.show(CallReady(call.id, title, dict(known.arguments)))

    async def _prose(self, text: str, merger: DeltaMerger) -> str:
        """What of the answer's text is shown as such: not the files that are written in it."""
        if not self._files.in_block and "<" in text:
            await merger.flush()  # a file may begin here, and what was said before it comes before it
        return await self._files.take(text)

    # -- keeping what arrived ----------------------------------------------------------------------------------------

    def _log_form(self, message: AssistantMessage, reason: str, duration_ms: int) -> dict[str, Any]:
        usage, model = message.usage, self._model
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
            }
            | ({} if model.prices.known else {"priced": False})
            | ({"estimated": True} if self._estimated else {}),
            "stopReason": reason,
            "durationMs": duration_ms,
            "timestamp": self._state.milliseconds(),
        }

    def _store(self, message: AssistantMessage, streamed: _Streamed, **more: object) -> None:
        reason = "stop" if message.stop_reason == "refusal" else message.stop_reason
        stored = self._log_form(message, reason, streamed.duration_ms) | more
        self._state.conversation.append("message", entry_id=streamed.entry_id, message=stored)
        self._state.conversation.clear_partial()

    async def _keep_cancelled(self, streamed: _Streamed) -> None:
        self._estimated = False
        message = streamed.message()
        if not message.blocks:
            return
        if isinstance(message.blocks[-1], Text) and not self._files.in_block:
            mark = f" {_CANCELLED_MARK}"
            message = replace(message, blocks=(*message.blocks[:-1], Text(message.blocks[-1].text + mark)))
            await self._state.editor.show(AnswerDelta(streamed.entry_id, mark))
        self._store(replace(message, stop_reason="aborted"), streamed)
        self.unfinished = list(message.calls)

    async def _keep_failed(self, end: Failed, streamed: _Streamed) -> None:
        self._estimated = False
        self._store(replace(end.partial, stop_reason="error"), streamed, errorMessage=end.message)
        await self._state.editor.show(AnswerDelta(streamed.entry_id, error_text(end.message, bool(end.partial.text))))
        self.unfinished = list(end.partial.calls)

    async def _keep_broken(self, end: Failed, streamed: _Streamed) -> None:
        """An answer that is asked for again: it stays in the conversation, but the model does not get it."""
        partial = replace(streamed.message(), usage=end.partial.usage)
        self._estimated = False
        self._store(replace(partial, stop_reason="error"), streamed, excludeFromContext=True)
        await self._calls.break_off(partial.calls, end.message)

    async def _report_usage(self, usage: Usage, streamed: _Streamed) -> None:
        self._state.diagnostics.event(
            "model_request_complete",
            model=self._model.selector,
            durationMs=streamed.duration_ms,
            output=usage.output,
        )
        self._state.costs.record(self._model, usage)
        event = usage_of(self._state.conversation.active_path(), self._model.window)
        if event is not None:
            await self._state.editor.show(replace(event, all_time_usd=self._state.costs.all_time()))


def _is_reported(usage: Usage) -> bool:
    return any((usage.input, usage.output, usage.cache_read, usage.cache_write))


def _orphan(failure: Failed) -> str | None:
    """The call that a vendor says has no result."""
    if failure.kind != "bad_request":
        return None
    found = _ORPHAN.search(failure.message)
    return next((group for group in found.groups() if group), None) if found is not None else None


def error_text(message: str, after_text: bool) -> str:
    """How a model's failure stands in the conversation."""
    gap = "\n\n" if after_text else ""
    return f"{gap}**The model gave no complete answer:** {message}"
