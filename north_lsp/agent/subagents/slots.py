"""How many agents work at once: one waits for a slot, and lends its own while it waits for agents of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from north_lsp.agent.subagents.working_time import WorkingTime


class Slots:
    """The slots of one conversation. `limit` may change meanwhile."""

    def __init__(self) -> None:
        self.limit = 1
        self._taken = 0
        self._freed = anyio.Event()

    async def take(self) -> None:
        while self._taken >= self.limit:
            await self._freed.wait()
        self._taken += 1

    def free(self) -> None:
        self._taken -= 1
        self._freed.set()
        self._freed = anyio.Event()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[Slot]:
        """Hold a slot."""
        await self.take()
        slot = Slot(self)
        try:
            yield slot
        finally:
            if not slot.is_lent:
                self.free()


class Slot:
    """A slot that an agent holds, and the time that it has."""

    time: WorkingTime | None = None

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._lenders = 0
        self.is_lent = False

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Let others have it meanwhile: whoever waits for its own agents does nothing by itself."""
        self._lenders += 1
        if self._lenders == 1 and not self.is_lent:
            self.is_lent = True
            self._slots.free()
        try:
            yield
        finally:
            self._lenders -= 1
            if self._lenders == 0 and self.is_lent:
                await self._take_back()

    async def _take_back(self) -> None:
        await self._slots.take()
        self.is_lent = False
