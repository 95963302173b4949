"""One turn: model ↔ tools until the model stops. Whatever happens on the way, the log is left consistent."""

from __future__ import annotations

from typing import Literal

from north_lsp.agent.calls.dispatch import Dispatcher
from north_lsp.agent.costs.limits import LimitReached
from north_lsp.agent.edits.recovery import changed_since
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.unfinished import Unfinished
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.results import NextPrompt, StopTurn
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.queue import Steering, Stopped
from north_lsp.agent.turn.reminders import Reminders
from north_lsp.agent.turn.request import ModelRequester
from north_lsp.providers.base import AssistantMessage, ToolCall

_TOO_LONG = 3
_CUT = "the answer reached the model's length limit; send `/continue` for the rest"
_STUCK = "the model made the same call six times with the same result; the turn was ended. Tell it what to do instead."
_BROKEN = (
    "something failed inside North, and the turn was ended; what was done is kept (`/continue` resumes it). See {}"
)
_CHANGED = "{} has changed since this edit was proposed, so the edit is prepared again"
_LIMIT = "the turn was ended after {} requests; send `/continue` to continue"


class Turn:
    """Runs one turn, once. The prompt is already in the log."""

    def __init__(
        self,
        context: TurnContext,
        requester: ModelRequester,
        dispatcher: Dispatcher,
        files: FileBlocks,
        reminders: Reminders,
        steering: Steering,
        ports: Ports,
    ) -> None:
        self._context = context
        self._requester = requester
        self._dispatcher = dispatcher
        self._files = files
        self._reminders = reminders
        self._steering = steering
        self._ports = ports

    async def run(self, left: Unfinished | None = None) -> Stopped:
        """Run until the model stops or the caller cancels, beginning with what an earlier process has `left` to do.
        Raises ModelFailed."""
        context, ports = self._context, self._ports
        was_empty, too_long = False, 0
        try:
            for _ in range(context.settings.turns.max_requests):
                await ports.status.before_step()
                answer = await self._taken_up(left) if left is not None else None
                left, answer = None, answer or await self._ask()
                if answer.stop_reason == "refusal":
                    await self._files.finish_incomplete()
                    return await self._stopped(answer)
                if answer.calls or self._files.has_unreviewed:
                    await ports.status.before_step()
                go_on = await self._files.review_finished()
                if answer.calls:
                    await ports.status.set("running_tools")
                    await self._dispatcher.run(answer.calls, self._steering.interrupts)
                    too_long += answer.stop_reason == "length"
                    if answer.stop_reason == "length" and too_long > _TOO_LONG:
                        return await self._stopped(answer)
                    if self._dispatcher.ends_turn:
                        return "end_turn"
                    if self._dispatcher.is_stuck:
                        await ports.show(Notice("warning", _STUCK))
                        return "end_turn"
                if answer.calls or go_on:
                    self._reminders.note_work()
                    await context.rules.follow()
                told = self._reminders.tell_rules()
                said = await self._steering.take()
                if not said and not answer.calls and not go_on and not told:
                    if await self._reminders.remind(answer):
                        continue
                    if answer.blocks or answer.stop_reason != "stop":
                        stopped = await self._stopped(answer)
                        if stopped == "end_turn" and self._reminders.continue_after_summary():
                            continue
                        return stopped
                    if was_empty:
                        await ports.show(Notice("warning", "the model returned an empty response twice"))
                        return "end_turn"
                was_empty = not answer.blocks
        except StopTurn:
            return "cancelled"
        except ModelFailed:
            raise
        except LimitReached as reached:
            await ports.show(Notice("warning", str(reached)))
            return "end_turn"
        except Exception as error:  # noqa: BLE001 - the frame around the turn: what was done is kept, and the user is told
            ports.on_failure("turn", error)
            await ports.show(Notice("error", _BROKEN.format(ports.diagnostics.log.path)))
            return "end_turn"
        await ports.show(Notice("warning", _LIMIT.format(context.settings.turns.max_requests)))
        return "max_turn_requests"

    @property
    def next(self) -> NextPrompt | None:
        """The prompt that follows the turn by itself."""
        return self._dispatcher.next

    async def _taken_up(self, left: Unfinished) -> AssistantMessage | None:
        """Take up an answer that an earlier process stored; None if nothing of it is left to do."""
        if left.answer is None or not isinstance(entry := left.answer.entry, AnswerEntry):
            return None
        for name in await changed_since(left.reviews, self._context.workspace):
            await self._ports.show(Notice("warning", _CHANGED.format(name)))
        await self._files.take_up(left.answer.id, left.text, left.decided)
        self._dispatcher.take_up(left.calls)
        if not left.calls and not self._files.has_unreviewed:
            return None
        said = (block for block in entry.blocks if not isinstance(block, ToolCall))
        reason: Literal["length", "stop"] = "length" if entry.stop_reason == "length" else "stop"
        return AssistantMessage((*said, *left.calls), reason, model=entry.model)

    async def _ask(self) -> AssistantMessage:
        try:
            return await self._requester.request_answer()
        except (ModelFailed, LimitReached):
            await self._files.finish_incomplete()
            raise

    async def _stopped(self, answer: AssistantMessage) -> Stopped:
        match answer.stop_reason:
            case "length":
                await self._ports.show(Notice("info", _CUT))
                return "max_tokens"
            case "refusal":
                self._requester.exclude_last_prompt()
                return "refusal"
            case _:
                await self._requester.make_room_for_next()
                return "end_turn"

    async def finalize(self) -> None:
        """End every call that was begun with a result, however the turn ended. The caller shields this."""
        with self._ports.diagnostics.guarded("ending files in the answer"):
            await self._files.finalize()
        await self._dispatcher.close()
        await self._requester.finalize()
