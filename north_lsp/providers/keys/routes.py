"""Where an editor sends the requests to a provider: to an endpoint of its own, with headers of its own, or nowhere.
Lives in the memory of this process, and is never shown or stored. A key of the user's is never sent to such an
endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from north_lsp.lazy_dataclass import dataclass

SOURCE = "the editor's endpoint"


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint for one provider. The headers may hold secrets."""

    address: str
    headers: Mapping[str, str] = field(repr=False)


class Routes:
    """The routes of this process, by provider."""

    def __init__(self) -> None:
        self._routes: dict[str, Route] = {}
        self._disabled: set[str] = set()

    def find(self, provider: str) -> Route | None:
        return self._routes.get(provider)

    def is_disabled(self, provider: str) -> bool:
        return provider in self._disabled

    def set(self, provider: str, route: Route) -> None:
        """Route a provider from now on; one that was disabled is not any more."""
        self._routes[provider] = route
        self._disabled.discard(provider)

    def disable(self, provider: str) -> None:
        """Let no request go to a provider; its route is forgotten."""
        self._routes.pop(provider, None)
        self._disabled.add(provider)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every header's value."""
        return tuple(value for route in self._routes.values() for value in route.headers.values())
