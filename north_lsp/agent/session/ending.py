"""Ends a session: what runs is cancelled, the processes that commands left running end, and the log is closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from functools import partial

import anyio
import anyio.to_thread

from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.session.keeping.closing import Closing
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.session.running_work import RunningWork
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.errors import ConversationBusy
from north_lsp.storage.log_state import LEFT


class Ending:
    """The end of one session. `end_processes` ends what its commands and servers left running."""

    def __init__(
        self,
        conversation: Conversation,
        work: RunningWork,
        saved: SavedConversation,
        end_processes: Callable[[], Awaitable[None]],
        abandoned: AbandonedTasks,
        diagnostics: Diagnostics,
    ) -> None:
        self.has_begun = False
        self._conversation = conversation
        self._work = work
        self._saved = saved
        self._end_processes = end_processes
        self._abandoned = abandoned
        self._diagnostics = diagnostics

    async def close(self, cancel: Callable[[], None], reason: str) -> None:
        """Cancel what runs, end the processes that commands left running, and close the log."""
        if self.has_begun:
            return
        closing = self._begin()
        cancel()
        async with AsyncExitStack() as held:
            with closing.limited("turn"):
                await self._work.ended()
                await held.enter_async_context(self._work.gate.turns())
            if closing.was_cut:
                with suppress(ConversationBusy):  # another process has taken it over, and asks itself
                    self._conversation.resolve_pending()
            await self._end(closing, reason)

    async def hand_over(self) -> None:
        """Leave a turn that stands still to the next process. What is left of it here must never run on."""
        await self._end(self._begin(), LEFT)

    def _begin(self) -> Closing:
        self.has_begun = True
        self._saved.be_silent()
        return Closing(self._abandoned, self._diagnostics)

    async def _end(self, closing: Closing, reason: str) -> None:
        """End the processes that commands left running, and close the log permanently."""
        with anyio.CancelScope(shield=True):
            await closing.run("processes", self._end_processes)
            self._conversation.end(reason)
            await closing.run("saving", self._saved.sync)
            self._conversation.retire()
            await closing.run("saving", partial(anyio.to_thread.run_sync, self._conversation.forget))
