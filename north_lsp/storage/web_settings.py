"""The settings of what models may have of the web."""

from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting

SearchProvider = Literal[
    "auto", "tavily", "perplexity", "brave", "jina", "kimi", "anthropic", "gemini", "codex", "zai", "exa", "parallel",
    "kagi", "synthetic", "searxng",
]  # fmt: skip


@dataclass(frozen=True)
class WebSettings:
    """Whether pages are fetched, and how the web is searched."""

    fetch_enabled: bool = setting(
        "web_fetch.enabled",
        True,
        "Offer models the tool `web_fetch`, which fetches pages of hosts that you allow.",
        strict=False,
        project="stricter",
    )
    search_enabled: bool = setting(
        "web_search.enabled",
        True,
        "Offer models the tool `web_search`, where a search provider is configured.",
        strict=False,
        project="stricter",
    )
    search_provider: SearchProvider = setting(
        "providers.webSearch",
        "auto",
        "The search provider that is asked first; with `auto`, the first one that has a key.",
    )
    searxng_endpoint: str = setting(
        "searxng.endpoint", "", "The address of your own SearXNG (or `SEARXNG_ENDPOINT`).", parse=str.strip
    )
    exa_enabled: bool = setting(
        "exa.enabled", True, "Search with Exa, if it has a key or is chosen.", strict=False, project="stricter"
    )
