"""Shows a stored conversation again, part by part: however long it is, what is shown first does not wait for the rest,
and only a part of it is in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import anyio.lowlevel
import anyio.to_thread

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.images import Find, loaded_events
from north_lsp.agent.log.projection import events_by_entry
from north_lsp.agent.ports.events import Event

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry

_PART = 100
_AT_ONCE = 200  # events, after which whatever else waits has its turn, even if the client takes them all at once
Show = Callable[[Event], Awaitable[None]]
Steps = Iterator[tuple[Logged | None, Iterable[Event]]]


async def show_path(
    path: Sequence[Logged],
    tools: Registry,
    find: Find,
    show: Show,
    shown: Sequence[str],
    still_open: Container[str] = (),
) -> None:
    """Show the events of a path, but for those of the entries that are `shown` already; calls that are `still_open` may
    get a result. If the path does not begin with
    these (the log was damaged, or has changed meanwhile), all of it is shown."""
    steps: Steps = events_by_entry(path, tools, still_open)
    begins = [one.id for one in path[: len(shown)]] == list(shown)
    await anyio.to_thread.run_sync(events_of_next, steps, len(shown) if begins else 0)
    left = True
    while left:
        left, events = await anyio.to_thread.run_sync(_part, steps, find)
        for number, event in enumerate(events, start=1):
            await show(event)
            if number % _AT_ONCE == 0:
                await anyio.lowlevel.checkpoint()


def events_of_next(steps: Steps, count: int) -> list[Event]:
    """Return the events of the next entries."""
    return [event for _, events in islice(steps, count) for event in events]


def _part(steps: Steps, find: Find) -> tuple[bool, list[Event]]:
    """Return whether there was a whole part, and its events, with their pictures."""
    taken = 0
    events: list[Event] = []
    for _, made in islice(steps, _PART):
        taken += 1
        events += made
    return taken == _PART, loaded_events(events, find)
