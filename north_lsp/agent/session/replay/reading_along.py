"""Shows what another process writes to a conversation, as it comes: entries, and an answer while it arrives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Sequence
from typing import TYPE_CHECKING, Protocol

import anyio

from north_lsp.agent.log.growing import GrowingAnswer
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry
from north_lsp.agent.log.projection import Projection
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.reviews import ReviewEntry
from north_lsp.agent.log.transcript import broke_off
from north_lsp.agent.ports.events import Activity, Event, TitleChanged, TranscriptReset, UsageChanged

if TYPE_CHECKING:
    from north_lsp.agent.log.entries import Logged
    from north_lsp.agent.log.log import Log
    from north_lsp.agent.session.replay.replay import Show
    from north_lsp.tools.registry import Registry


class Shows(Protocol):
    """The part of a `Session` that shows things."""

    async def show_stored(self, events: Sequence[Event]) -> None:
        """Show what was stored, with its pictures, and adopt the mode."""
        ...

    async def tools(self) -> Registry: ...

    async def replay(self, show: Show) -> None: ...

    def usage(self) -> UsageChanged | None: ...


class ReadingAlong:
    """Shows one conversation. What this process writes itself is shown by its turns: `pause` while it does, `begin`
    from then on. The caller sees to it that one thing is shown at a time."""

    def __init__(self, log: Log, session: Shows, show: Callable[[Event], Awaitable[None]]) -> None:
        self._log = log
        self._session = session
        self._show = show
        self._title = log.conversation.title
        self._growing: GrowingAnswer | None = None
        self._projection: Projection | None = None
        self._seen: tuple[int, int] | None = None
        self._done: list[str] | None = None
        self.begin()

    def begin(self) -> Sequence[Logged]:
        """Take the path as it is for what is shown, and return it."""
        revision, path = self._log.look()
        self._seen, self._done = (revision, len(path)), [one.id for one in path]
        self._projection, self._growing = None, None
        return path

    def pause(self) -> None:
        self._done, self._projection, self._growing = None, None, None

    @property
    def is_paused(self) -> bool:
        return self._done is None

    def state(self) -> Activity:
        """Return what the other process does, as far as the log tells."""
        path = self._log.path()
        if any(isinstance(one.entry, ReviewEntry) and one.entry.status == "pending" for one in _of_last_step(path)):
            return "awaiting_review"
        return "running_tools" if self._growing is not None or broke_off(path) else "idle"

    async def more(self, arriving: Logged | None = None) -> None:
        """Show what is new, and what has arrived of an answer."""
        revision, path = self._log.look()
        if self._done is None or (arriving is None and self._seen == (revision, len(path))):
            return
        if [one.id for one in path[: len(self._done)]] != self._done:
            self.begin()
            await self._reset()
            return
        new, self._seen, self._done = path[len(self._done) :], (revision, len(path)), [one.id for one in path]
        projection, tools = await self._projected(path[: len(path) - len(new)]), await self._session.tools()
        events = [event for one in new for event in self._events(projection, one, path)]
        await self._session.show_stored([*events, *self.arrived(arriving, tools)])
        if any(isinstance(one.entry, AnswerEntry) for one in new) and (usage := self._session.usage()) is not None:
            await self._show(usage)
        await self._show_title(path)

    async def interrupted(self, still_open: Container[str]) -> None:
        """Show that the calls without a result will get none, but for those that are `still_open`."""
        projection = await self._projected(self._log.path())
        await self._session.show_stored(list(projection.interrupted(still_open)))

    def arrived(self, answer: Logged | None, tools: Registry) -> list[Event]:
        """Return what is new of an answer that arrives."""
        if answer is None:
            return []
        if self._growing is None or self._growing.entry_id != answer.id:
            self._growing = GrowingAnswer(answer.id)
        return self._growing.more(Projection(tools).add(answer))

    # -- inside ----------------------------------------------------------------------------------------------------

    async def _reset(self) -> None:
        """Show what there is now: another process has gone to another place of the conversation."""
        events: list[Event] = []

        async def collect(event: Event) -> None:
            events.append(event)

        await self._session.replay(collect)
        await self._show(TranscriptReset(None, tuple(events)))

    def _events(self, projection: Projection, one: Logged, path: Sequence[Logged]) -> list[Event]:
        if isinstance(one.entry, ResultEntry):
            for other in _of_last_step(path):  # its decision came after the question
                projection.note_decision(other)
        events = list(projection.add(one))
        if not isinstance(one.entry, AnswerEntry):
            return events
        growing, self._growing = self._growing, None
        return growing.more(events) if growing is not None and growing.entry_id == one.id else events

    async def _projected(self, path: Sequence[Logged]) -> Projection:
        """Return the projection of what is shown: this `path`, the first time."""
        if self._projection is None:
            projection = Projection(await self._session.tools())
            await anyio.to_thread.run_sync(lambda: [list(projection.add(one)) for one in path])
            self._projection = projection
        return self._projection

    async def _show_title(self, path: Sequence[Logged]) -> None:
        title = self._log.conversation.title
        if title != self._title and title is not None:
            self._title = title
            await self._show(TitleChanged(title, path[-1].at if path else ""))


def _of_last_step(path: Sequence[Logged]) -> list[Logged]:
    """Return the entries after the last answer or prompt."""
    end = len(path)
    while end and not isinstance(path[end - 1].entry, AnswerEntry | PromptEntry):
        end -= 1
    return list(path[end:])
