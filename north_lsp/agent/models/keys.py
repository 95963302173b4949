"""The keys that the user has given North, for editors and slash commands. A key goes to the store or to the memory of
this process, never into a log, a conversation or an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio.to_thread

from north_lsp.agent.models.model_services import Models
from north_lsp.providers.keys.check import key_problem
from north_lsp.providers.keys.credential_lookup import credential_source
from north_lsp.providers.keys.sources import SIGN_IN
from north_lsp.providers.model import ProviderInfo
from north_lsp.storage.credentials import CredentialStore, StoredKey
from north_lsp.storage.locations import Locations


class UserKeys:
    """The user's keys in one process. Methods that write raise OSError."""

    def __init__(self, models: Models, locations: Locations, environ: Mapping[str, str]) -> None:
        self._models = models
        self._keys = models.catalog.keys
        self._store = CredentialStore(locations)
        self._environ = environ

    async def stored(self) -> Sequence[StoredKey]:
        """Return the keys that are in the store now."""
        return await anyio.to_thread.run_sync(self._store.all_keys)

    async def known(self) -> Sequence[StoredKey]:
        """Return the keys that requests are made with."""
        await self._models.catalog_refresh.refresh()
        return self._keys.stored

    def rest_of(self, key: StoredKey) -> str | None:
        """Say why a key is not used for now, and until when; None if it can be used."""
        rest = self._keys.resting.rest_of(key)
        return None if rest is None else str(rest)

    async def accounts(self) -> list[str]:
        """Return the providers that there is a key for, each with where the key is."""
        await self._models.catalog_refresh.refresh()
        sources = ((info.title, credential_source(info, self._environ, self._keys)) for info in self.providers())
        return [f"{title} ({source})" for title, source in sources if source is not None]

    def providers(self) -> list[ProviderInfo]:
        """Return the providers for which a key can be stored, or that users sign in to."""
        return [info for info in self._models.catalog.providers if info.credentials or info.sign_in is not None]

    def provider(self, id: str) -> ProviderInfo | None:
        """Find a provider that can be given a key."""
        found = (info for info in self._models.catalog.providers if info.id == id and info.api != "offline")
        return next(found, None)

    async def problem(self, info: ProviderInfo, secret: str) -> str | None:
        """Try a key with one cheap request; returns the provider's objection, None if there is none."""
        return await key_problem(info, secret, self._environ)

    async def store(self, info: ProviderInfo, secret: str, label: str) -> StoredKey:
        """Store a key for all future processes."""
        stored = await anyio.to_thread.run_sync(self._store.add, info.id, secret, label)
        await self._changed()
        return stored

    async def sign_in(self, info: ProviderInfo, show: Callable[[str], Awaitable[None]]) -> None:
        """Have the user sign in to a provider, on a page that `show` opens. Raises SignInFailed, OSError."""
        from north_lsp.providers.keys.sign_in import sign_in  # rare, and loads an HTTP client

        assert info.sign_in is not None
        grant = await sign_in(info.sign_in, self._environ, show)
        await anyio.to_thread.run_sync(self._store.keep_sign_in, info.id, info.title, grant.to_json())
        await self._changed()

    async def sign_out(self, provider: str) -> None:
        """Forget a sign-in; stored keys stay."""
        await anyio.to_thread.run_sync(self._store.forget_sign_in, provider)
        await self._changed()

    def winner(self, info: ProviderInfo) -> str | None:
        """Return where the key is that wins over the user's sign-in to a provider; None if the sign-in is used."""
        source = credential_source(info, self._environ, self._keys)
        return None if source == SIGN_IN else source

    def signed_in(self) -> list[ProviderInfo]:
        """Return the providers that the user is signed in to."""
        return [info for info in self._models.catalog.providers if self._keys.sign_in(info.id) is not None]

    async def give(self, info: ProviderInfo, secret: str) -> None:
        """Keep a key in the memory of this process only."""
        self._keys.give(info.id, secret)
        await self._changed()

    async def remove(self, id: int | None = None, provider: str | None = None) -> int:
        """Forget one key, or all keys of a provider; returns how many there were."""
        if provider is not None:
            self._keys.give(provider, None)
        removed = await anyio.to_thread.run_sync(self._store.remove, id, provider)
        await self._changed()
        return removed

    async def forget_all(self) -> None:
        """Forget every key that was stored or given; environment variables and models.yml belong to the user."""
        self._keys.clear_given()
        await anyio.to_thread.run_sync(self._store.remove)
        await self._changed()

    async def _changed(self) -> None:
        await anyio.to_thread.run_sync(self._keys.refresh)
        await self._models.catalog_refresh.changed()
        self._models.catalog_refresh.discover_soon()
