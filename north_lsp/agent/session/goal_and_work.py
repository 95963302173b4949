"""The goal and the workflow of a session: what the client is shown of them, and what the user makes of the goal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.work import concerns_work
from north_lsp.agent.ports.events import CallEnded, Event, Notice, TurnEnded, TurnStarted, WorkChanged
from north_lsp.agent.ports.work import NO_WORK, WorkView
from north_lsp.display import visible
from north_lsp.tools.goals import GoalError

if TYPE_CHECKING:
    from north_lsp.agent.planning.goal import GoalKeeper


class GoalAndWork:
    """Shows goal and workflow of one session, again whenever they have changed."""

    def __init__(self, log: Log, show: Callable[[Event], Awaitable[None]]) -> None:
        self._log = log
        self._show = show
        self._told = NO_WORK

    @property
    def now(self) -> WorkView:
        """What is to be shown."""
        if not self._log.those(concerns_work):
            return NO_WORK
        from north_lsp.agent.planning.work_view import work_on  # opening a session without a goal needs none of it

        return work_on(self._log)

    @property
    def document(self) -> str:
        """The goal as Markdown; empty without one."""
        return visible(self._keeper.document)

    async def edit(self, text: str) -> list[str]:
        """Replace the goal by what the user wrote; empty text drops it. Say which of its commands change files. Raises
        GoalError; then nothing is changed."""
        from north_lsp.agent.planning.goal import changing

        self._ensure_writable()
        goal = self._keeper.edit(text)
        await self.tell()
        return await changing(one.command for one in goal.criteria) if goal is not None else []

    async def replace(self, text: str) -> None:
        """Replace the goal by the user's document of it, and warn of commands that change files. Raises GoalError."""
        if changes := await self.edit(text):
            told = (
                f"These commands may change files, but running them does not make evidence stale: {'; '.join(changes)}"
            )
            await self._show(Notice("warning", visible(told)))

    async def confirm(self, id: str) -> None:
        """Take the user's word that a criterion is met. Raises GoalError; then nothing is changed."""
        self._ensure_writable()
        self._keeper.confirm(id)
        await self.tell()

    async def after(self, event: Event) -> None:
        """Show what has changed, once this event was shown: any result can make evidence stale."""
        if isinstance(event, CallEnded | TurnStarted | TurnEnded):
            await self.tell()

    async def tell(self) -> None:
        """Show what has changed since the last time."""
        now = self.now
        if now != self._told:
            self._told = now
            await self._show(WorkChanged(now))

    def anew(self) -> WorkChanged | None:
        """Return the current state for a client that shows none of it, or no longer does; None if there is nothing to
        show."""
        self._told = self.now
        return WorkChanged(self._told) if self._told != NO_WORK else None

    @property
    def _keeper(self) -> GoalKeeper:
        from north_lsp.agent.planning.goal import GoalKeeper

        return GoalKeeper(self._log)

    def _ensure_writable(self) -> None:
        if (reason := self._log.conversation.read_only_reason) is not None:
            raise GoalError(f"this conversation cannot be changed: {reason}")
