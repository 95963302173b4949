"""The one place in a session where files are changed: a turn has it, or what the user asks for between two turns."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class TurnGate:
    """One for a session. Whoever is told that a turn has ended may act at once: `has_turn` is false by then."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._turn = False

    @property
    def has_turn(self) -> bool:
        """A turn runs that has not ended for the user."""
        return self._turn

    @property
    def is_taken(self) -> bool:
        """Who comes now waits, be it for a moment."""
        return self._lock.locked()

    @asynccontextmanager
    async def turns(self) -> AsyncIterator[None]:
        """Room for turns, one after the other; each says `end`, and a further one `begin`."""
        async with self._lock:
            self._turn = True
            try:
                yield
            finally:
                self._turn = False

    async def quiet(self) -> None:
        """Wait until it is free."""
        async with self._lock:
            pass

    def begin(self) -> None:
        self._turn = True

    def end(self) -> None:
        """To be called before anybody is told."""
        self._turn = False

    @asynccontextmanager
    async def between(self) -> AsyncIterator[None]:
        """Room for something short, after whatever else is short. Raises ValueError while a turn runs."""
        if self._turn:
            raise ValueError("a turn is running: wait for its end or cancel it")
        async with self._lock:
            yield
