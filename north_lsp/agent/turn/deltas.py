"""Merges text deltas: the first is shown at once, later ones at intervals; a slow editor slows the model down."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable

import anyio

from north_lsp.agent.ports.events import AnswerDelta, Event, ThoughtDelta
from north_lsp.display import unfinished_emoji

FLUSH_SECONDS = 0.032
_MAX_BUFFERED = 64 * 1024


class DeltaMerger:
    """Merges the deltas of one answer: `push` or `add` text, and `flush` before any other event; `run` must be running
    meanwhile."""

    def __init__(
        self, message_id: str, show: Callable[[Event], Awaitable[None]], seconds: float = FLUSH_SECONDS
    ) -> None:
        self._seconds = seconds
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
        if self.push(text):
            await self.flush_shown()

    def push(self, text: str) -> bool:
        """Add text of the same kind as the last; True if it is time to `flush_shown`."""
        self._parts.append(text)
        self._size += len(text)
        if time.monotonic() - self._last >= self._seconds or self._size > _MAX_BUFFERED:
            return True
        if not self._waiting.is_set():
            self._waiting.set()
        return False

    async def flush(self) -> None:
        """Show everything, since something else follows."""
        await self._flush(keeps_emoji=False)

    async def flush_shown(self) -> None:
        """Show what no later text can change: an emoji may continue in the next piece, and is not shown in halves."""
        await self._flush(keeps_emoji=True)

    async def _flush(self, *, keeps_emoji: bool) -> None:
        async with self._lock:
            if not self._parts:
                return
            count = len(self._parts)
            text = "".join(self._parts[:count])
            end = unfinished_emoji(text) if keeps_emoji else len(text)
            if end:
                event = ThoughtDelta if self._thinking else AnswerDelta
                await self._show(event(self._message_id, text[:end]))
            # Only now, so that nothing is lost if the wait for the editor is cancelled.
            self._parts[:count] = [text[end:]] if end < len(text) else []
            self._size -= end
            self._last = time.monotonic()

    async def run(self) -> None:
        """Show what remains when the model pauses; runs until cancelled."""
        while True:
            await self._waiting.wait()
            self._waiting = anyio.Event()
            await anyio.sleep(max(0.0, self._last + self._seconds - time.monotonic()))
            await self.flush_shown()
