"""Has a conversation summarised between two turns, since the user asks for it. A cancel ends that like a turn."""

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.model_turns import TurnMeans
from north_lsp.agent.session.surroundings import ModelSurroundings
from north_lsp.vocabulary import Mode

if TYPE_CHECKING:
    from north_lsp.agent.turn.request_builder import RequestBuilder


class CompactedSession(Protocol):
    """The part of a session that this needs."""

    mode: Mode
    choice: ModelChoice

    def cancellable(self) -> AbstractAsyncContextManager[None]: ...


class Compacting:
    """The summaries that the user of one session asks for. `keep_last` is how many of the last messages stay, None for
    as many as are short enough."""

    def __init__(self, session: CompactedSession, means: TurnMeans, surroundings: ModelSurroundings) -> None:
        self._session = session
        self._means = means
        self._surroundings = surroundings

    async def check(self, keep_last: int | None) -> None:
        """Check that there is something to summarise. Raises ValueError."""
        (await self._builder()).check_summary(self._session.choice.model, keep_last)

    async def run(self, instructions: str, keep_last: int | None) -> None:
        """Have the older part summarised. What stands in the way is shown."""
        try:
            async with self._session.cancellable():
                builder = await self._builder()
                await builder.summarize_now(self._session.choice.model, instructions, keep_last)
        except ValueError as error:
            await self._means.ports.show(Notice("warning", str(error)))

    async def _builder(self) -> "RequestBuilder":
        choice, parts = self._session.choice, await self._means.parts()
        return parts.builder(await self._surroundings.context(choice.model, self._session.mode), choice)
