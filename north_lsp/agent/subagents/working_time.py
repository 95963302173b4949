"""How long an agent may work: its time stands still while it waits for the user, and so does that of the agents that
wait for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class WorkingTime:
    """Limits the working time of one agent, without the time in which it waits for the user. `limit` is cancelled at
    the deadline; `asker` is the working time of the agent that assigned the task."""

    def __init__(self, limit: anyio.CancelScope, asker: WorkingTime | None = None) -> None:
        self._limit = limit
        self._asker = asker
        self._waits = 0
        self._left = 0.0

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let no time pass meanwhile."""
        self._stop()
        try:
            yield
        finally:
            self._resume()

    def _stop(self) -> None:
        self._waits += 1
        if self._waits == 1:
            self._left = self._limit.deadline - anyio.current_time()
            self._limit.deadline = math.inf
        if self._asker is not None:
            self._asker._stop()

    def _resume(self) -> None:
        self._waits -= 1
        if self._waits == 0:
            self._limit.deadline = anyio.current_time() + self._left
        if self._asker is not None:
            self._asker._resume()
