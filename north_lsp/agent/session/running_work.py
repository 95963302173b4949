"""What runs in a session, for its client and beside its turns, and the gate for what must not run meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio

from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.turn.queue import PromptQueue


class RunningWork:
    """Tracks and cancels what runs in one session. `sync` saves the conversation."""

    def __init__(self, queue: PromptQueue, sync: Callable[[], Awaitable[None]]) -> None:
        self.gate = TurnGate()
        self._queue = queue
        self._sync = sync
        self._scopes: list[anyio.CancelScope] = []
        self._one_ended = anyio.Event()

    @property
    def is_running(self) -> bool:
        """Whether something runs that a cancel would end."""
        return bool(self._scopes)

    @property
    def is_busy(self) -> bool:
        """Whether something runs, or waits to run."""
        return self.is_running or self.gate.is_taken or bool(self._queue.waiting)

    @contextmanager
    def within(self, scope: anyio.CancelScope) -> Iterator[anyio.CancelScope]:
        """Run something in a scope that a cancel of the session ends; closing waits for it."""
        with self.known(scope), scope:
            yield scope

    @contextmanager
    def known(self, scope: anyio.CancelScope) -> Iterator[anyio.CancelScope]:
        """Have a scope that somebody else enters end with a cancel of the session; closing waits for it."""
        self._scopes.append(scope)
        try:
            yield scope
        finally:
            self._scopes.remove(scope)
            ended, self._one_ended = self._one_ended, anyio.Event()
            ended.set()

    @asynccontextmanager
    async def between_turns(self) -> AsyncIterator[None]:
        """Hold the gate while the conversation or its files are changed. Raises ValueError while a turn is running or a
        prompt waits for one."""
        if self._queue.waiting:
            raise ValueError("a prompt is waiting for its turn: wait for it to end, or cancel it")
        async with self.gate.between():
            yield
            await self._sync()

    @asynccontextmanager
    async def cancellable(self) -> AsyncIterator[None]:
        """Do something between turns that a cancel ends. Raises ValueError like `between_turns`."""
        with self.within(anyio.CancelScope()):
            async with self.between_turns():
                yield

    def cancel(self) -> None:
        """Cancel everything that runs."""
        for scope in self._scopes:
            scope.cancel()

    async def ended(self) -> None:
        """Wait until nothing runs that a cancel would end."""
        while self._scopes:
            await self._one_ended.wait()
