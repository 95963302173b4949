"""One answer of the model: asked for, and asked for again where it helps, by this model or another one."""

import math
import re
from collections.abc import Awaitable
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio
import anyio.to_thread

from north_lsp.agent.calls.dispatch import Calls
from north_lsp.agent.costs.estimates import estimated_usage
from north_lsp.agent.log.images import has_images, with_images
from north_lsp.agent.ports.events import FellBack, Notice, Promoted, RetryEnded, Retrying
from north_lsp.agent.turn.context import build_request
from north_lsp.agent.turn.context_window import LEAST_ANSWER, read_tokens, room_for_answer, too_long
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.retry import GiveUp, Retries, Wait
from north_lsp.agent.turn.store import AnswerLog
from north_lsp.agent.turn.stream import AnswerStream, Streamed
from north_lsp.agent.turn_state import TurnState
from north_lsp.providers.base import AssistantMessage, Done, Failed, Provider, ToolCall, Usage
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.storage.entries import message_of, new_entry_id

_ORPHAN = re.compile(
    r"tool_use.{0,40}ids were found without.{0,60}?tool_result.{0,60}?\b(toolu_\w+)"
    r"|[Nn]o tool output found for function call ([\w-]+)"
    r"|tool_call_ids? did not have response messages: ([\w-]+)"
)


class ModelFailed(Exception):
    """The model gave no answer. The log and the editor have been told; `failure` is for whoever ends the prompt."""

    def __init__(self, failure: Failed) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Asking:
    """Asks for the answers of one turn. `unfinished` are calls of an answer that was cancelled or failed: they still
    need their results."""

    def __init__(self, state: TurnState, calls: Calls, files: FileBlocks) -> None:
        self._state = state
        self._calls = calls
        self._files = files
        self._log = AnswerLog(state, calls)
        self._retries = Retries(state.retry)
        self._model, self._provider = state.model, state.provider
        self._chosen = state.chosen()
        self._recovered = False  # from a call that the vendor took for one without a result
        self._attempt = 0  # of asking again
        self._read = 0  # tokens of the last request
        self._fell_from = ""  # the model that another one answers for
        self._was_too_long_for: set[str] = set()
        self.unfinished: list[ToolCall] = []

    async def ask(self) -> AssistantMessage:
        """The next answer, stored and shown. Raises ModelFailed."""
        state = self._state
        await state.spending.check(self._spent)
        while True:
            await self._follow_choice()
            streamed, end = await self._try_once()
            if isinstance(end, Done):
                return await self._succeeded(end.message, streamed)
            self._note_failure(end, streamed)
            if not self._recovered and (orphan := _orphan(end)) is not None and self._leave_out(orphan):
                self._recovered = True
                state.diagnostics.event("orphaned_tool_recovered", callId=orphan)
                continue
            if end.kind == "context_overflow" and await self._promote(end, streamed):
                continue
            if streamed.broke_in_file:
                later = self._retries.after(end, started=True, delivered=True)
                if not isinstance(later, GiveUp):
                    return await self._go_on_later(end, streamed, later)
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

    # -- one attempt ---------------------------------------------------------------------------------------------------

    async def _try_once(self) -> tuple[Streamed, Done | Failed]:
        """A request which would leave no room for an answer is not sent."""
        state = self._state
        messages, last = state.history.messages(self._model), state.history.last_usage()
        tools, conversation = state.tools.specs(state.mode), state.conversation.id
        request = build_request(self._model, state.system, messages, tools, conversation)
        self._read = read_tokens(last, request)
        room = room_for_answer(self._model, self._read)
        if room is not None and room < LEAST_ANSWER:
            return Streamed(state.conversation.reserve_id()), too_long(self._model, room)
        if room is not None and room < request.max_output:
            request = replace(request, max_output=room)
        if has_images(request):
            fill = partial(with_images, request, state.checkpoints.content, takes_images=self._model.images)
            request = await anyio.to_thread.run_sync(fill)
        await state.status.set("streaming")
        state.diagnostics.event("model_request_start", model=self._model.selector, tools=len(request.tools))
        stream = AnswerStream(state, self._calls, self._files, self._log, self._model)
        try:
            return stream.streamed, await stream.run(self._provider, request)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._keep_cancelled(stream.streamed)
            raise

    async def _succeeded(self, message: AssistantMessage, streamed: Streamed) -> AssistantMessage:
        """An answer whose tokens the vendor did not count is kept with an estimate."""
        estimated = self._model.provider.api != "offline" and not _is_reported(message.usage)
        if estimated:
            with self._state.diagnostics.guarded("estimating tokens"):
                message = replace(message, usage=estimated_usage(self._read, message))
        self._retries.succeeded()
        self._log.store(message, self._model, streamed, estimated=estimated)
        self.unfinished = list(message.calls)
        with self._state.diagnostics.guarded("counting what was used"):
            await self._report_usage(message.usage, streamed)
        await self._report_recovery()
        self.unfinished = []  # whoever asked has them now
        return message

    def _note_failure(self, end: Failed, streamed: Streamed) -> None:
        if _is_reported(end.partial.usage):
            self._state.costs.record(self._model, end.partial.usage)
        self._state.diagnostics.event(
            "model_request_error",
            kind=end.kind,
            status=end.status,
            retryable=end.retryable,
            durationMs=streamed.duration_ms,
        )

    async def _report_usage(self, usage: Usage, streamed: Streamed) -> None:
        self._state.diagnostics.event(
            "model_request_complete",
            model=self._model.selector,
            durationMs=streamed.duration_ms,
            output=usage.output,
        )
        self._state.costs.record(self._model, usage)
        event = self._state.history.usage(self._model.window)
        if event is not None:
            await self._state.editor.show(replace(event, all_time_usd=self._state.costs.all_time()))

    def _spent(self) -> float:
        """What the conversation has cost, in US dollars."""
        usage = self._state.history.usage(self._model.window)
        return usage.cost_usd if usage is not None else 0.0

    # -- which model -------------------------------------------------------------------------------------------------

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

    async def _fall_back(self, end: Failed, streamed: Streamed) -> bool:
        """Go on with another model, where the user has named one for this case."""
        before = await self._go_on_with(self._state.fallback(self._model, end), "retry", end, streamed)
        if before is None:
            return False
        self._state.diagnostics.event("retry_fallback_applied", before=before.selector, after=self._model.selector)
        text = f"{before.title} failed ({end.message}); {self._model.title} answers instead"
        await self._state.editor.show(Notice("warning", text))
        self._fell_from = before.selector
        await self._state.editor.show(FellBack("applied", before.selector, self._model.selector))
        return True

    async def _promote(self, end: Failed, streamed: Streamed) -> bool:
        """Go on with a model that has a larger window, where there is one; each is tried once."""
        self._was_too_long_for.add(self._model.selector)
        larger = self._state.promotion(self._model, self._was_too_long_for)
        before = await self._go_on_with(larger, "promotion", end, streamed)
        if before is None:
            return False
        self._state.diagnostics.event("context_promoted", before=before.selector, after=self._model.selector)
        text = f"the conversation is too long for {before.title}: {self._model.title}, with a larger window, answers"
        await self._state.editor.show(Notice("warning", text))
        await self._state.editor.show(Promoted(before.selector, self._model.selector))
        return True

    async def _go_on_with(
        self, search: Awaitable[tuple[Model, Provider] | None], reason: str, end: Failed, streamed: Streamed
    ) -> Model | None:
        """The model that answered before; None if there is no other. What had arrived is kept, also if the user cancels
        while the other is looked for."""
        try:
            found = await search
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._keep_cancelled(streamed)
            raise
        if found is None:
            return None
        if streamed.delivered:
            await self._keep_broken(end, streamed)
        before, (self._model, self._provider) = self._model, found
        self._state.conversation.append("model_change", model=self._model.selector, reason=reason, temporary=True)
        return before

    # -- trying again ------------------------------------------------------------------------------------------------

    def _leave_out(self, call_id: str) -> bool:
        """No model gets the answer with this call again, here or in a later turn; whether there is one. It stays in the
        conversation."""
        conversation = self._state.conversation
        for entry in conversation.active_path():
            message = message_of(entry)
            calls = message.get("content") or () if message.get("role") == "assistant" else ()
            if any(block.get("type") == "tool_call" and block.get("id") == call_id for block in calls):
                conversation.annotate("entry_updated", targetId=entry["id"], patch={"excludeFromContext": True})
                return True
        return False

    async def _go_on_later(self, end: Failed, streamed: Streamed, step: Wait) -> AssistantMessage:
        """An answer that broke off inside a file is not asked for again: what has arrived stands, and is continued.
        Raises ModelFailed if the user gives up."""
        message = replace(streamed.message(), stop_reason="length")
        self._log.store(message, self._model, streamed)
        self.unfinished = list(message.calls)
        await self._calls.break_off(message.calls, end.message)
        if not await self._wait(step, end):
            await self._report_recovery("cancelled by the user")
            raise ModelFailed(replace(end, message=f"{end.message} (cancelled by the user)"))
        self.unfinished = []
        return message

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

    async def _report_recovery(self, error: str = "") -> None:
        """Tell how the attempts ended, and that another model has answered, where there was anything to tell of."""
        attempt, self._attempt = self._attempt, 0
        if attempt:
            await self._state.editor.show(RetryEnded(not error, attempt, error))
        before, self._fell_from = self._fell_from, ""
        if before and not error:
            await self._state.editor.show(FellBack("succeeded", before, self._model.selector))

    # -- keeping what arrived ----------------------------------------------------------------------------------------

    async def _keep_cancelled(self, streamed: Streamed) -> None:
        """Also where nothing had come: the next request is not to look as if nobody had been asked."""
        message = streamed.message()
        self.unfinished = list(message.calls)
        self._state.costs.record(self._model, message.usage)
        self._log.keep_cancelled(streamed, self._model, in_file=self._files.in_block)

    async def _keep_failed(self, end: Failed, streamed: Streamed) -> None:
        self.unfinished = list(end.partial.calls)
        await self._log.keep_failed(end, streamed, self._model)

    async def _keep_broken(self, end: Failed, streamed: Streamed) -> None:
        self.unfinished = list(streamed.message().calls)
        await self._log.keep_broken(end, streamed, self._model)
        self.unfinished = []


def _is_reported(usage: Usage) -> bool:
    return any((usage.input, usage.output, usage.cache_read, usage.cache_write))


def _orphan(failure: Failed) -> str | None:
    """The call that a vendor says has no result."""
    if failure.kind != "bad_request":
        return None
    found = _ORPHAN.search(failure.message)
    return next((group for group in found.groups() if group), None) if found is not None else None
