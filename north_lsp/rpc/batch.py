"""The answers to an array of messages: they go out as one array, once all of them are there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from north_lsp.rpc.messages import Invalid, Message, Request

Reply = dict[str, Any]
MOST_MESSAGES = 1000
"""Of a longer array nothing is done."""


class Batch:
    """Collects the answers to the messages of one array. Without a message that is answered, nothing is sent."""

    def __init__(self, messages: Sequence[Message], send: Callable[[list[Reply]], Awaitable[None]]) -> None:
        self._missing = sum(
            isinstance(message, Request) or (isinstance(message, Invalid) and message.reply is not None)
            for message in messages
        )
        self._send = send
        self._replies: list[Reply] = []
        self._sent = anyio.Event()

    def put(self, reply: Reply) -> bool:
        """Add an answer; returns whether the array is to be sent now."""
        self._replies.append(reply)
        return len(self._replies) == self._missing

    async def add(self, reply: Reply) -> None:
        """Add an answer; returns when the array is on its way."""
        await (self.send() if self.put(reply) else self._sent.wait())

    async def send(self) -> None:
        """Send the array."""
        try:
            await self._send(self._replies)
        finally:
            self._sent.set()
