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
    searxng_categories: str = setting(
        "searxng.categories",
        "",
        "The categories that SearXNG searches, between commas; empty: its own.",
        parse=str.strip,
    )
    searxng_language: str = setting(
        "searxng.language", "", "The language that SearXNG searches in, such as `de`; empty: its own.", parse=str.strip
    )
    searxng_token: str = setting("searxng.token", "", "The token of SearXNG (or `SEARXNG_TOKEN`).", secret=True)
    searxng_user: str = setting(
        "searxng.basicUsername", "", "The user name for SearXNG, without a colon (or `SEARXNG_BASIC_USERNAME`)."
    )
    searxng_password: str = setting(
        "searxng.basicPassword", "", "The password for SearXNG (or `SEARXNG_BASIC_PASSWORD`).", secret=True
    )
    exa_enabled: bool = setting(
        "exa.enabled", True, "Search with Exa, if it has a key or is chosen.", strict=False, project="stricter"
    )
    exa_search: bool = setting(
        "exa.enableSearch",
        True,
        "Search the web with Exa; `exa.enabled` is for all that North has of it.",
        strict=False,
        project="stricter",
    )

    @property
    def searxng_variables(self) -> dict[str, str]:
        """What these settings say of SearXNG, as the variables that say the same."""
        found = {
            "SEARXNG_CATEGORIES": self.searxng_categories,
            "SEARXNG_LANGUAGE": self.searxng_language,
            "SEARXNG_TOKEN": self.searxng_token,
            "SEARXNG_BASIC_USERNAME": self.searxng_user,
            "SEARXNG_BASIC_PASSWORD": self.searxng_password,
        }
        return {name: value for name, value in found.items() if value}
