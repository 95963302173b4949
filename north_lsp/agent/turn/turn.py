"""One turn: model ↔ tools until the model stops. Whatever happens on the way, the log is left whole."""

import re

import anyio

from north_lsp.agent.calls.dispatch import Calls
from north_lsp.agent.costs.limits import LimitReached
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.results import StopTurn
from north_lsp.agent.prompts import render
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.queue import Stopped
from north_lsp.agent.turn.request import Asking, ModelFailed
from north_lsp.agent.turn_state import TurnState
from north_lsp.providers.base import AssistantMessage, ToolCall

_TOO_LONG = 3
_CUT = "the answer reached the model's length limit; `/continue` goes on with it"
_SHOWN_EDIT = re.compile(  # a fenced block that names a file: behind the marks, or in the line before
    r"^ {0,3}(?:```|~~~)[^\n`]*?[\w/-]+\.\w{1,8}\b|^[^\n]*`[\w./-]+\.\w{1,8}`[^\n]*\n+ {0,3}(?:```|~~~)", re.MULTILINE
)
_STUCK = "the model made the same call six times with the same result; the turn was ended. Tell it what to do instead."
_BROKEN = "something failed inside North, and the turn was ended; what was done is kept (`/continue` goes on). See {}"
_LIMIT = "the turn was ended after {} requests; say `go on` to continue it"


class Turn:
    """Runs once. The prompt is already in the log."""

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._calls = Calls(state)
        self._files = FileBlocks(state, self._calls)
        self._asking = Asking(state, self._calls, self._files)
        self._unfinished: list[ToolCall] = []
        self._reminded = False

    async def run(self) -> Stopped:
        """Until the model stops or the caller cancels. Raises ModelFailed."""
        state = self._state
        was_empty = False
        too_long = 0
        try:
            for _ in range(state.settings.turns.max_requests):
                answer = await self._ask()
                self._unfinished = list(answer.calls)
                if answer.stop_reason == "refusal":
                    await self._files.give_up()
                    return await self._stopped(answer)
                go_on = await self._files.settle()
                if answer.calls:
                    await state.status.set("running_tools")
                    await self._calls.run(answer.calls)
                    if answer.stop_reason == "length":
                        too_long += 1
                        if too_long > _TOO_LONG:
                            return await self._stopped(answer)
                    if self._calls.is_stuck:
                        await state.editor.show(Notice("warning", _STUCK))
                        return "end_turn"
                self._unfinished = []
                with anyio.CancelScope(shield=True):  # what is taken out of the queue stands in the conversation
                    said = await state.queue.take_steering()
                    for word in said:
                        await state.say(word)
                if not said and not answer.calls and not go_on:
                    if self._is_to_be_reminded(answer):
                        continue
                    if answer.blocks or answer.stop_reason != "stop":
                        return await self._stopped(answer)
                    if was_empty:
                        await state.editor.show(Notice("warning", "the model answered with nothing, twice"))
                        return "end_turn"
                was_empty = not answer.blocks
        except StopTurn:
            return "cancelled"
        except ModelFailed:
            raise
        except LimitReached as reached:
            await state.editor.show(Notice("warning", str(reached)))
            return "end_turn"
        except Exception as error:  # noqa: BLE001 - the frame around the turn: what was done is kept, and said
            state.on_failure("turn", error)
            await state.editor.show(Notice("error", _BROKEN.format(state.diagnostics.log.path)))
            return "end_turn"
        await state.editor.show(Notice("warning", _LIMIT.format(state.settings.turns.max_requests)))
        return "max_turn_requests"

    def _is_to_be_reminded(self, answer: AssistantMessage) -> bool:
        """The model shows an edit in its answer and makes none, where the user wants that to be said; once."""
        state = self._state
        if self._reminded or not state.settings.turns.nudge_unapplied_code or state.mode != "agent":
            return False
        if answer.stop_reason != "stop" or _SHOWN_EDIT.search(answer.text) is None:
            return False
        self._reminded = True
        content = [{"type": "text", "text": render("nudge_edit")}]
        message = {"role": "user", "content": content, "attribution": "north", "timestamp": state.milliseconds()}
        state.conversation.append("message", message=message)
        return True

    async def _ask(self) -> AssistantMessage:
        try:
            return await self._asking.ask()
        except (ModelFailed, LimitReached):
            await self._files.give_up()
            raise

    async def _stopped(self, answer: AssistantMessage) -> Stopped:
        match answer.stop_reason:
            case "length":
                await self._state.editor.show(Notice("info", _CUT))
                return "max_tokens"
            case "refusal":
                self._forget_refused()
                return "refusal"
            case _:
                return "end_turn"

    def _forget_refused(self) -> None:
        """The refused prompt and what came after it stay in the conversation, but no model gets them again."""
        conversation = self._state.conversation
        for entry in reversed(conversation.active_path()):
            if entry["type"] == "message":
                conversation.annotate("entry_updated", targetId=entry["id"], patch={"excludeFromContext": True})
                message = entry["message"]
                if message.get("role") == "user" and message.get("attribution") != "north":
                    return

    async def wind_up(self) -> None:
        """After the end, however it came: every call that was begun has its result, every question its decision. The
        caller shields this."""
        self._state.conversation.resolve_pending()
        with self._state.diagnostics.guarded("ending files in the answer"):
            await self._files.wind_up()
        await self._calls.wind_up([*self._asking.unfinished, *self._unfinished])
        self._unfinished, self._asking.unfinished = [], []
