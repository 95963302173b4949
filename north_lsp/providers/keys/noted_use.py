"""Notes when a stored key was used last, so that the user can tell which of them are not needed any more."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio.to_thread

from north_lsp.providers.base import Done, ModelRequest, Provider, StreamEvent
from north_lsp.providers.keys.sources import Keys
from north_lsp.storage.credentials import StoredKey


class NotedProvider:
    """One model, asked with one stored key."""

    def __init__(self, provider: Provider, key: StoredKey, keys: Keys) -> None:
        self._provider = provider
        self._key = key
        self._keys = keys

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        async with aclosing(self._provider.stream(request)) as events:
            async for event in events:
                if isinstance(event, Done) and self._keys.has_old_use(self._key):
                    await anyio.to_thread.run_sync(self._keys.note_use, self._key)
                yield event

    async def aclose(self) -> None:
        await self._provider.aclose()
