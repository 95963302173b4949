"""The one lock in a session for changing files: a turn holds it, or something that the user asks for between two
turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class TurnGate:
    """The gate of one session. A client that is told that a turn has ended may act at once: `has_turn` is false by
    then."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._turn = False

    @property
    def has_turn(self) -> bool:
        """Whether a turn is running that has not ended for the user."""
        return self._turn

    @property
    def is_taken(self) -> bool:
        """Whether the gate is taken, so that a caller would have to wait, if only for a moment."""
        return self._lock.locked()

    @asynccontextmanager
    async def turns(self) -> AsyncIterator[None]:
        """Hold the gate for turns, one after the other; each of them calls `end`, and the next one `begin`."""
        async with self._lock:
            self._turn = True
            try:
                yield
            finally:
                self._turn = False

    async def quiet(self) -> None:
        """Wait until the gate is free."""
        async with self._lock:
            pass

    def begin(self) -> None:
        self._turn = True

    def end(self) -> None:
        """Mark the turn as ended; must be called before anyone is told of the end."""
        self._turn = False

    @asynccontextmanager
    async def between(self) -> AsyncIterator[None]:
        """Hold the gate for something short, after any other short work. Raises ValueError while a turn runs."""
        if self._turn:
            raise ValueError("a turn is running: wait for it to end, or cancel it")
        async with self._lock:
            yield
