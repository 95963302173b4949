"""What can be done about a failed request other than sending it again: another model, or a shorter conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.turn.answer_log import AnswerLog
from north_lsp.agent.turn.answering_model import AnsweringModel
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.request_builder import RequestBuilder
from north_lsp.agent.turn.streamed_answer import Streamed
from north_lsp.providers.base import Failed
from north_lsp.providers.orphans import orphaned_call

T = TypeVar("T")


class Remedies:
    """The remedies of one turn; each method returns whether it is worth asking again. `keep_cancelled` keeps what had
    arrived if the user cancels meanwhile."""

    def __init__(
        self,
        builder: RequestBuilder,
        history: History,
        answering: AnsweringModel,
        log: AnswerLog,
        keep_cancelled: Callable[[Streamed], None],
        ports: Ports,
    ) -> None:
        self._builder = builder
        self._history = history
        self._answering = answering
        self._log = log
        self._keep_cancelled = keep_cancelled
        self._ports = ports
        self._shortened = False  # since the model has refused the conversation for its length
        self._recovered = False  # from a call that the vendor reported as having no result

    def answered(self) -> None:
        """Note that the model has answered, so the conversation may be shortened again."""
        self._shortened = False

    def drop_orphan(self, end: Failed) -> bool:
        """Exclude the answer whose call has no result, as the vendor says; once in a turn."""
        if self._recovered or (orphan := orphaned_call(end)) is None or not self._history.exclude_answer_with(orphan):
            return False
        self._recovered = True
        self._ports.diagnostics.event("orphaned_tool_recovered", callId=orphan)
        return True

    async def make_fit(self, end: Failed, streamed: Streamed) -> bool:
        """Ask a model with a larger window, or shorten the conversation, once until the model answers."""
        if (found := await self._or_keep(self._answering.larger(), streamed)) is not None:
            await self._log.keep_broken(end, streamed, self._answering.model)
            await self._answering.promote_to(found)
            return True
        if self._shortened:
            return False
        self._shortened = True
        is_shorter = await self._or_keep(self._builder.shorten_refused(self._answering.model), streamed)
        if is_shorter:
            await self._log.keep_broken(end, streamed, self._answering.model)
        return is_shorter

    async def fall_back(self, end: Failed, streamed: Streamed) -> bool:
        """Ask another model, if the user has named one for this case."""
        found = await self._or_keep(self._answering.fallback(end), streamed)
        if found is None:
            return False
        await self._log.keep_broken(end, streamed, self._answering.model)
        await self._answering.fall_back_to(found, end)
        return True

    async def _or_keep(self, search: Awaitable[T], streamed: Streamed) -> T:
        try:
            return await search
        except anyio.get_cancelled_exc_class():
            self._keep_cancelled(streamed)
            raise
