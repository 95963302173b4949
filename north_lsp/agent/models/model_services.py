"""The models of a process: which there are, how one is reached, and which one answers when another cannot."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from north_lsp.agent.models.fallback import Fallbacks
from north_lsp.agent.secrets.masked_pool import MaskedPool
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.listing import Row, rows
from north_lsp.providers.catalog.model_selection import Allowed
from north_lsp.providers.catalog.onboarding import ways_to_a_model
from north_lsp.providers.catalog_refresh import CatalogRefresh


@dataclass(frozen=True)
class Models:
    """The model services that all sessions share; `catalog_refresh` keeps the catalog up to date. `save` makes a model
    the default for new conversations: it writes a file, so call it in a thread (raises OSError)."""

    catalog: Catalog
    providers: MaskedPool
    catalog_refresh: CatalogRefresh
    fallbacks: Fallbacks
    save: Callable[[str], None]

    def masked(self, secrets: Secrets) -> Models:
        """Return the same services with the placeholders of a conversation."""
        providers = self.providers.of(secrets)
        return replace(self, providers=providers, fallbacks=self.fallbacks.of(providers))

    async def listed(self, pattern: str, allowed: Allowed, *, available: bool) -> list[Row]:
        """List the models whose selector, alias or name contains the pattern, as they are known now; `available`: only
        those that can be used."""
        await self.catalog_refresh.refresh()
        self.catalog_refresh.discover_soon()
        return rows(self.catalog, pattern, allowed=allowed, available=available, now=time.time())

    async def problem(self) -> str | None:
        """Return what to do when no model can be used; None when one can."""
        await self.catalog_refresh.refresh()
        return None if self.catalog.available() else ways_to_a_model(self.catalog)
