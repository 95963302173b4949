"""Which tools of the web models are offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.agent.models.model_services import Models
from north_lsp.storage.settings import Settings


def offered_of_web(
    environ: Mapping[str, str], models: Models, settings: Settings
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the tools to offer in addition, and those to leave out. To be called in a thread: it loads modules."""
    from north_lsp.agent.web.means import search_chain

    web = settings.web
    can_search = web.search_enabled and bool(search_chain(environ, models, settings).usable())
    without = () if web.fetch_enabled else ("web_fetch",)
    return ("web_search",) if can_search else (), without + (() if web.search_enabled else ("web_search",))
