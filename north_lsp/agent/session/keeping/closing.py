"""Closes a conversation in a limited time. What hangs is left behind and logged; everything that was said and done is
in its log already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import anyio

from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.ports.diagnostics import Diagnostics

Step = Literal["turn", "processes", "saving"]
LIMITS: dict[Step, float] = {"turn": 4.0, "processes": 1.5, "saving": 1.0}
"""Seconds. With what `AbandonedTasks` waits for a thread, and what is closed with the connection, less than eight."""

_GRACE_SECONDS = 0.25


class Closing:
    """The steps of closing one conversation. `was_cut`: one of them has not ended in its time."""

    def __init__(self, abandoned: AbandonedTasks, diagnostics: Diagnostics) -> None:
        self._abandoned = abandoned
        self._diagnostics = diagnostics
        self.was_cut = False

    @contextmanager
    def limited(self, step: Step) -> Iterator[None]:
        """Wait for something for as long as the step may take; nothing else can cancel that."""
        with anyio.move_on_after(LIMITS[step], shield=True) as limit:
            yield
        if limit.cancelled_caught:
            self.was_cut = True
            self._diagnostics.warning("shutdown_cut", step=step, afterMs=round(LIMITS[step] * 1000))

    async def run(self, step: Step, work: Callable[[], Awaitable[None]]) -> None:
        """Do something that may hang in a thread: then the thread is left behind."""
        with self.limited(step):
            await self._abandoned.run(work, lambda _: None, _GRACE_SECONDS)
