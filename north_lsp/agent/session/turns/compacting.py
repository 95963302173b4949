"""Has a conversation summarized between two turns, since the user asks for it. A cancel ends that like a turn."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

import anyio.to_thread

from north_lsp.agent.costs.limits import LimitReached
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import ConversationWanted, Notice
from north_lsp.agent.session.services.surroundings import ModelSurroundings
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.display import one_line
from north_lsp.storage.copying import hand_over
from north_lsp.vocabulary import Mode

if TYPE_CHECKING:
    from north_lsp.agent.turn.request_builder import RequestBuilder


_HANDED_OVER = "Handoff: "
_TITLE_LENGTH = 60


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
        """Check that there is something to summarize. Raises ValueError."""
        (await self._builder()).check_summary(self._session.choice.model, keep_last)

    async def run(self, instructions: str, keep_last: int | None) -> None:
        """Have the older part summarized. What is in the way is shown."""
        try:
            async with self._session.cancellable():
                builder = await self._builder()
                await builder.summarize_now(self._session.choice.model, instructions, keep_last)
        except ValueError as error:
            await self._means.ports.show(Notice("warning", str(error)))

    async def hand_over(self, focus: str) -> None:
        """Begin another conversation with a summary of this one, and have the client open it. What is in the way is
        shown."""
        means = self._means
        log, locations = means.stored.log, means.environment.locations
        try:
            async with self._session.cancellable():
                await means.saved.sync()
                id = log.reserve_id()
                entry = await (await self._builder()).hand_over(self._session.choice.model, focus, id)
                title = one_line(f"{_HANDED_OVER}{means.saved.title or log.id}", _TITLE_LENGTH)
                first = Logged(id, None, "", entry).to_json()
                begun = await anyio.to_thread.run_sync(hand_over, log.conversation, locations, first, title)
                means.environment.process.switches.has_made(begun, "handoff")
                cwd = log.header.cwd
                await means.ports.show(ConversationWanted(begun, cwd, title))
        except (ValueError, LimitReached, OSError) as error:
            await means.ports.show(Notice("error", f"handoff failed: {error}. This conversation is unchanged"))

    async def _builder(self) -> RequestBuilder:
        choice, parts = self._session.choice, await self._means.parts()
        return parts.builder(await self._surroundings.context(choice.model, self._session.mode), choice)
