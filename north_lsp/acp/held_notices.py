"""Notices for clients that show nothing of a session between its prompts, as JetBrains' IDEs do: those that come
meanwhile wait for the next prompt."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from north_lsp.acp.initialize import Client

_MOST = 20
_VENDOR = "JetBrains."


def holds_notices(client: Client) -> bool:
    """Tell whether a client is one of those."""
    return not client.shows_notices and client.name is not None and client.name.startswith(_VENDOR)


class HeldNotices:
    """Holds the notices of one session until its next prompt."""

    def __init__(self) -> None:
        self._held: deque[dict[str, Any]] = deque(maxlen=_MOST)
        self._prompts = 0

    def takes(self, params: dict[str, Any]) -> bool:
        """Keep a notice, as it would be sent, for the next prompt; False if one runs."""
        if self._prompts:
            return False
        self._held.append(params)
        return True

    @asynccontextmanager
    async def prompting(self, send: Callable[[dict[str, Any]], Awaitable[None]]) -> AsyncIterator[None]:
        """Send what is held, and hold nothing as long as a prompt runs."""
        self._prompts += 1
        try:
            while self._held:
                await send(self._held.popleft())
            yield
        finally:
            self._prompts -= 1
