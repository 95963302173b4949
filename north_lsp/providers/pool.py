"""The providers of a connection: made once for each model, on a thread, because a vendor's SDK is slow to import."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import anyio
import anyio.to_thread

from north_lsp.providers.base import DEFAULT_TIMEOUTS, Provider, Timeouts
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.factory import make_provider
from north_lsp.providers.keys.sources import NO_KEYS, Keys
from north_lsp.providers.model import NO_EXTRAS, Extras, Model


class ProviderPool:
    """Shares providers, with their open connections, between sessions."""

    def __init__(
        self,
        environ: Mapping[str, str],
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        keys: Keys = NO_KEYS,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        self.timeouts = timeouts
        self._keys = keys
        self._extras = extras
        self._retired: list[Provider] = []
        self._environ = environ
        self._providers: dict[Model, Provider] = {}
        self._making = anyio.Lock()

    async def get(self, model: Model) -> Provider:
        """Return the model's provider, making it on a thread if there is none yet. Raises MissingCredential."""
        model = model.with_level(None)  # each request says how much the model thinks
        async with self._making:
            provider = self._providers.get(model)
            if provider is None:
                make = partial(make_provider, model, self._environ, self.timeouts, self._keys, self._extras)
                try:
                    provider = await anyio.to_thread.run_sync(make, abandon_on_cancel=True)
                except MissingCredential:
                    raise
                except Exception as error:  # an SDK may refuse a proxy, an address, a certificate …
                    raise MissingCredential(f"{model.title} cannot be used: {error}") from error
                self._providers[model] = provider
            return provider

    def forget(self) -> None:
        """Make new providers from now on, since keys or addresses have changed. A running turn keeps the one it has."""
        self._retired += self._providers.values()
        self._providers.clear()

    async def aclose(self) -> None:
        for provider in (*self._providers.values(), *self._retired):
            await provider.aclose()
