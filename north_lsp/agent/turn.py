"""One turn: model ↔ tools until the model stops. Whatever happens on the way, the log is left whole."""

from typing import Literal

from north_lsp.agent.asking import Asking
from north_lsp.agent.calls import Calls
from north_lsp.agent.results import StopTurn
from north_lsp.agent.state import TurnState
from north_lsp.providers.base import AssistantMessage, ToolCall

Stopped = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]

MAX_REQUESTS = 200


class Turn:
    """Runs once. The prompt is already in the log."""

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._calls = Calls(state)
        self._asking = Asking(state, self._calls)
        self._unfinished: list[ToolCall] = []

    async def run(self) -> Stopped:
        """Until the model stops or the caller cancels. Raises ModelFailed."""
        try:
            for _ in range(MAX_REQUESTS):
                answer = await self._asking.ask()
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
        await self._calls.wind_up([*self._asking.unfinished, *self._unfinished])
        self._unfinished, self._asking.unfinished = [], []


def _stop_reason(answer: AssistantMessage) -> Stopped:
    match answer.stop_reason:
        case "length":
            return "max_tokens"
        case "refusal":
            return "refusal"
        case _:
            return "end_turn"
