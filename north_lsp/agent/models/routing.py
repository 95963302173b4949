"""Where the requests to each provider go, as far as an editor may say that."""

from __future__ import annotations

from collections.abc import Mapping

from north_lsp.agent.models.model_services import Models
from north_lsp.providers.keys.routes import Route
from north_lsp.providers.model import ProviderInfo


class Routing:
    """The routes of one process. Each change counts from the next request on; one that runs is not touched."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def listed(self) -> list[tuple[ProviderInfo, str | None]]:
        """Return the providers with the addresses that their requests go to; None for one that is switched off, or has
        no address."""
        await self._models.catalog_refresh.refresh()
        return [(info, self._address(info)) for info in self._models.catalog.providers if _is_remote(info)]

    def provider(self, id: str) -> ProviderInfo | None:
        """Find a provider that can be routed."""
        return next((info for info in self._models.catalog.providers if info.id == id and _is_remote(info)), None)

    async def set(self, id: str, address: str, headers: Mapping[str, str]) -> None:
        """Send a provider's requests to an address, with these headers only."""
        self._models.catalog.keys.routes.set(id, Route(address, dict(headers)))
        await self._models.catalog_refresh.changed()

    async def disable(self, id: str) -> None:
        """Let no request go to a provider."""
        self._models.catalog.keys.routes.disable(id)
        await self._models.catalog_refresh.changed()

    def _address(self, info: ProviderInfo) -> str | None:
        routes = self._models.catalog.keys.routes
        if routes.is_disabled(info.id):
            return None
        route = routes.find(info.id)
        return route.address if route is not None else info.address_in(self._models.catalog.environ)


def _is_remote(info: ProviderInfo) -> bool:
    return info.api not in ("offline", "north-test") and info.stream is None
