"""The keys that the user has given North, as editors and slash commands deal with them. A key goes to the store or to
the memory of this process, never into a log, a conversation or an answer."""

from collections.abc import Mapping, Sequence

import anyio.to_thread

from north_lsp.agent.models.model_services import Models
from north_lsp.providers.keys.check import key_problem
from north_lsp.providers.model import ProviderInfo
from north_lsp.storage.credentials import CredentialStore, StoredKey
from north_lsp.storage.locations import Locations


class UserKeys:
    """Of one process. What writes raises OSError."""

    def __init__(self, models: Models, locations: Locations, environ: Mapping[str, str]) -> None:
        self._models = models
        self._keys = models.catalog.keys
        self._store = CredentialStore(locations)
        self._environ = environ

    async def stored(self) -> Sequence[StoredKey]:
        """Those in the store, as it is now."""
        return await anyio.to_thread.run_sync(self._store.all_keys)

    async def known(self) -> Sequence[StoredKey]:
        """Those that requests are made with."""
        await self._models.catalog_refresh.refresh()
        return self._keys.stored

    def providers(self) -> list[ProviderInfo]:
        """Those that a key can be stored for."""
        return [info for info in self._models.catalog.providers if info.credentials]

    def provider(self, id: str) -> ProviderInfo | None:
        """A provider that can be given a key."""
        found = (info for info in self._models.catalog.providers if info.id == id and info.api != "offline")
        return next(found, None)

    async def problem(self, info: ProviderInfo, secret: str) -> str | None:
        """What the provider says against a key, tried out with one cheap request."""
        return await key_problem(info, secret, self._environ)

    async def store(self, info: ProviderInfo, secret: str, label: str) -> StoredKey:
        """Keep a key for all processes to come."""
        stored = await anyio.to_thread.run_sync(self._store.add, info.id, secret, label)
        await self._changed()
        return stored

    async def give(self, info: ProviderInfo, secret: str) -> None:
        """Keep a key in this process alone."""
        self._keys.give(info.id, secret)
        await self._changed()

    async def remove(self, id: int | None = None, provider: str | None = None) -> int:
        """Forget one key, or all of a provider; how many there were."""
        if provider is not None:
            self._keys.give(provider, None)
        removed = await anyio.to_thread.run_sync(self._store.remove, id, provider)
        await self._changed()
        return removed

    async def forget_all(self) -> None:
        """Forget every key that was stored or given; variables and models.yml are the user's own."""
        self._keys.clear_given()
        await anyio.to_thread.run_sync(self._store.remove)
        await self._changed()

    async def _changed(self) -> None:
        await anyio.to_thread.run_sync(self._keys.refresh)
        await self._models.catalog_refresh.changed()
        self._models.catalog_refresh.discover_soon()
