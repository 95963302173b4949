"""The turn that an earlier process did not finish and that this one can continue with, if its client can decide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from typing import TYPE_CHECKING

from north_lsp.agent.log.chosen import chosen_on
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import Projection
from north_lsp.agent.log.unfinished import Unfinished, ended_early, find_unfinished
from north_lsp.agent.ports.events import CallEnded, Event
from north_lsp.vocabulary import Mode

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


class _Any:
    def __contains__(self, value: object) -> bool:
        return True


_ANY = _Any()


class LeftTurn:
    """The unfinished turn of one conversation. `is_kept`: the client takes up such turns; for any other client, their
    questions are refused when the conversation is opened."""

    def __init__(self, log: Log, *, is_kept: bool) -> None:
        self._log = log
        self._is_kept = is_kept

    def find(self) -> Unfinished | None:
        """Find it in the log as this process knows it; None if there is none. Another process may be at it."""
        if not self._is_kept:
            return None
        return find_unfinished(self._log.path(), was_left=self._log.conversation.was_left)

    @property
    def ended_early(self) -> bool:
        """Whether the last turn was cut off. Where `find` finds it, it can continue."""
        return ended_early(self._log.path())

    def mode_of(self, left: Unfinished) -> Mode:
        """Return the mode that was set when its prompt was sent: what the user has chosen since is for the next one."""
        path = self._log.path()
        return chosen_on(path[: next((at for at, one in enumerate(path) if one.id == left.prompt_id), len(path))]).mode

    def open_ids(self, *, lives: bool) -> Container[str]:
        """Return the calls that may still get a result: any, while something `lives` that works on them."""
        left = self.find()
        return _ANY if lives else left.open_ids if left is not None else ()

    def settle(self) -> None:
        """Refuse the questions that nobody will take up. Raises ConversationBusy."""
        if self.find() is None:
            self._log.conversation.resolve_pending()

    async def give_up(self, tools: Callable[[], Awaitable[Registry]]) -> Iterable[Event]:
        """Refuse its questions, since the user continues with something else; returns what is to be shown of its calls.
        Raises ConversationBusy."""
        left = self.find()
        self._log.conversation.resolve_pending()
        return list(self._given_up(left, await tools())) if left is not None else []

    def _given_up(self, left: Unfinished, tools: Registry) -> Iterator[Event]:
        projection = Projection(tools)
        for one in (left.answer, *left.reviews):
            if one is not None:
                list(projection.add(one))
        for event in projection.interrupted(left.decided):
            if isinstance(event, CallEnded):
                yield event
