"""The models of a process: which there are, how one is reached, and who answers when it cannot."""

from collections.abc import Callable
from dataclasses import dataclass

from north_lsp.agent.models.fallback import Fallbacks
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.pool import ProviderPool
from north_lsp.providers.refresh import Upkeep


@dataclass(frozen=True)
class Models:
    """What all sessions share of models; `upkeep` keeps the catalog true. `save` makes a model the default for new
    conversations: it writes a file, so call it on a thread (raises OSError)."""

    catalog: Catalog
    providers: ProviderPool
    upkeep: Upkeep
    fallbacks: Fallbacks
    save: Callable[[str], None]
