"""What a session reaches the web with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from north_lsp.agent.costs.account import Account
from north_lsp.agent.log.log import Log
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.web.reader import PageReader
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.settings import Settings
from north_lsp.web.client import WebClient
from north_lsp.web.search.chain import SearchChain


@dataclass(frozen=True)
class WebMeans:
    """The client for pages, the reader that answers questions about them, and the models whose keys search, too."""

    client: WebClient = field(default_factory=lambda: WebClient({}))
    reader: PageReader | None = None
    models: Models | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str], models: Models, log: Log, account: Account) -> WebMeans:
        return cls(WebClient(environ), PageReader(log, models, account), models)

    def chain(self, settings: Settings) -> SearchChain:
        """Return the search providers as they are configured now."""
        return search_chain(self.client.environ, self.models, settings)


def search_chain(environ: Mapping[str, str], models: Models | None, settings: Settings) -> SearchChain:
    """Return the search providers as they are configured now."""

    def stored(provider: str) -> str:
        keys = models.catalog.keys if models is not None else None
        found = (keys.given(provider) or keys.find(provider)) if keys is not None else None
        return found.secret if found is not None and not found.is_token else ""

    web = settings.web
    without = frozenset() if web.exa_enabled and web.exa_search else frozenset({"exa"})
    return SearchChain({**environ, **web.searxng_variables}, web.search_provider, without, web.searxng_endpoint, stored)
