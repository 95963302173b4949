"""Tells an LSP client what North's log warns of, as `window/logMessage`: the same line, without contents."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

import anyio

from north_lsp.display import visible
from north_lsp.rpc.peer import Peer

_TYPES = {"error": 1, "warn": 2}
_MOST_WAITING = 100


class LogMessages:
    """The messages of one connection. `take` gets what is logged, from any thread; `run` sends those that warn. More
    than a hundred that wait are not sent: the log has them all."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[int, str]] = deque(maxlen=_MOST_WAITING)
        self._news = anyio.Event()

    def take(self, level: str, text: str) -> None:
        if (type := _TYPES.get(level)) is not None:
            with suppress(RuntimeError):  # the loop has been closed
                self._loop.call_soon_threadsafe(self._add, type, visible(text))

    def _add(self, type: int, text: str) -> None:
        self._waiting.append((type, text))
        self._news.set()

    async def run(self) -> None:
        """Send messages until cancelled."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            while self._waiting:
                type, text = self._waiting.popleft()
                await self._peer.notify("window/logMessage", {"type": type, "message": text})
