"""Merging of text deltas: the first is shown at once, later ones every 32 ms; a slow editor slows the model."""

import math
import time
from collections.abc import Awaitable, Callable

import anyio

from north_lsp.agent.events import AnswerDelta, Event, ThoughtDelta

FLUSH_SECONDS = 0.032
_MAX_BUFFERED = 64 * 1024


class DeltaMerger:
    """`add` text, `flush` before any other event; `run` has to be running meanwhile."""

    def __init__(self, message_id: str, show: Callable[[Event], Awaitable[None]]) -> None:
        self._message_id = message_id
        self._show = show
        self._parts: list[str] = []
        self._size = 0
        self._thinking = False
        self._last = -math.inf
        self._lock = anyio.Lock()
        self._waiting = anyio.Event()

    async def add(self, text: str, *, thinking: bool) -> None:
        if thinking != self._thinking:
            await self.flush()
            self._thinking = thinking
        self._parts.append(text)
        self._size += len(text)
        if time.monotonic() - self._last >= FLUSH_SECONDS or self._size > _MAX_BUFFERED:
            await self.flush()
        else:
            self._waiting.set()

    async def flush(self) -> None:
        async with self._lock:
            if not self._parts:
                return
            count = len(self._parts)
            text = "".join(self._parts[:count])
            event = ThoughtDelta if self._thinking else AnswerDelta
            await self._show(event(self._message_id, text))
            # Only now, so that a cancelled wait for the editor loses nothing.
            del self._parts[:count]
            self._size -= len(text)
            self._last = time.monotonic()

    async def run(self) -> None:
        """Show what is left lying when the model pauses; runs until cancelled."""
        while True:
            await self._waiting.wait()
            self._waiting = anyio.Event()
            await anyio.sleep(max(0.0, self._last + FLUSH_SECONDS - time.monotonic()))
            await self.flush()
