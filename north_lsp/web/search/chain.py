"""Which search providers can be used, in which order they are asked, and what becomes of their failures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field

import anyio

from north_lsp.lazy_dataclass import dataclass
from north_lsp.web.search import indexes, models
from north_lsp.web.search.base import Found, Query, SearchClient, SearchFailed

SECONDS = 30.0
Search = Callable[[Query, SearchClient], Awaitable[Found]]


@dataclass(frozen=True)
class Provider:
    """A provider: its key is in one of `variables`, or stored for the model provider `stored`. `addresses` are
    variables that say where it is, instead of `base`; one without a `base` must be given an address."""

    id: str
    title: str
    search: Search
    base: str
    variables: tuple[str, ...] = ()
    stored: str = ""
    addresses: tuple[str, ...] = ()


_KIMI_ADDRESSES = ("MOONSHOT_SEARCH_BASE_URL", "KIMI_SEARCH_BASE_URL")
_ZAI = "https://api.z.ai/api/mcp/web_search_prime/mcp"
_KIMI = ("MOONSHOT_SEARCH_API_KEY", "KIMI_SEARCH_API_KEY", "MOONSHOT_API_KEY")
_GOOGLE = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
PROVIDERS = (
    Provider("tavily", "Tavily", indexes.tavily, "https://api.tavily.com", ("TAVILY_API_KEY",)),
    Provider(
        "perplexity",
        "Perplexity",
        models.perplexity,
        "https://api.perplexity.ai",
        ("PERPLEXITY_API_KEY", "PPLX_API_KEY"),
    ),
    Provider("brave", "Brave", indexes.brave, "https://api.search.brave.com", ("BRAVE_API_KEY",)),
    Provider("jina", "Jina", indexes.jina, "https://s.jina.ai", ("JINA_API_KEY",)),
    Provider("kimi", "Kimi", indexes.kimi, "https://api.kimi.com/coding/v1/search", _KIMI, "", _KIMI_ADDRESSES),
    Provider(
        "anthropic",
        "Anthropic",
        models.anthropic,
        "https://api.anthropic.com",
        ("ANTHROPIC_SEARCH_API_KEY",),
        "anthropic",
        ("ANTHROPIC_SEARCH_BASE_URL",),
    ),
    Provider("gemini", "Gemini", models.gemini, "https://generativelanguage.googleapis.com", _GOOGLE, "google"),
    Provider("codex", "OpenAI", models.codex, "https://api.openai.com", ("OPENAI_API_KEY",), "openai"),
    Provider("zai", "Z.ai", models.zai, _ZAI, ("ZAI_API_KEY",)),
    Provider("exa", "Exa", indexes.exa, "https://api.exa.ai", ("EXA_API_KEY",)),
    Provider("parallel", "Parallel", indexes.parallel, "https://api.parallel.ai", ("PARALLEL_API_KEY",)),
    Provider("kagi", "Kagi", indexes.kagi, "https://kagi.com/api/v1", ("KAGI_API_KEY",)),
    Provider("synthetic", "Synthetic", indexes.synthetic, "https://api.synthetic.new", ("SYNTHETIC_API_KEY",)),
    Provider("searxng", "SearXNG", indexes.searxng, "", ("SEARXNG_TOKEN",), "", ("SEARXNG_ENDPOINT",)),
)
_EXA_TOOLS = "https://mcp.exa.ai"


@dataclass(frozen=True)
class Searched:
    """What came of a search: the provider that answered or was asked last (`none` if none was), what it found, and why
    others did not answer. `notice` is for the user."""

    provider: str
    title: str = ""
    found: Found | None = None
    failures: Sequence[tuple[str, str]] = ()
    notice: str = ""


@dataclass(frozen=True)
class SearchChain:
    """The providers as they are configured now. `preferred` is the one to ask first, or `auto`; `without` are switched
    off; `searxng` is the address of the user's own. `stored` returns the key that is stored for a model provider;
    `bases` replaces addresses, by id."""

    environ: Mapping[str, str]
    preferred: str = "auto"
    without: frozenset[str] = frozenset()
    searxng: str = ""
    stored: Callable[[str], str] = lambda provider: ""
    bases: Mapping[str, str] = field(default_factory=dict)
    wait: Callable[[float], Awaitable[None]] = anyio.sleep

    def usable(self) -> list[Provider]:
        """Return the providers that can be asked, in order."""
        found = [one for one in PROVIDERS if self._client(one) is not None]
        return sorted(found, key=lambda one: one.id != self.preferred)

    async def search(self, query: Query) -> Searched:
        """Ask one provider after the other, until one answers."""
        providers = self.usable()
        notice = ""
        if self.preferred != "auto" and (not providers or providers[0].id != self.preferred):
            notice = f"The search provider {self.preferred} cannot be used here, so others are asked."
        failures: list[tuple[str, str]] = []
        last = Searched("none", notice=notice)
        for provider in providers:
            client = self._client(provider)
            assert client is not None
            try:
                with anyio.fail_after(SECONDS):
                    found = await provider.search(query, client)
            except TimeoutError:
                failures.append((provider.title, f"no answer within {SECONDS:.0f} seconds"))
            except SearchFailed as failed:
                refused = failed.status in (401, 403)
                failures.append((provider.title, "authorization failed" if refused else str(failed)))
            else:
                return Searched(provider.id, provider.title, found, failures, notice)
            last = Searched(provider.id, provider.title, None, failures, notice)
        return last

    def _client(self, provider: Provider) -> SearchClient | None:
        """Return what a provider is asked with, None if it cannot be."""
        if provider.id in self.without:
            return None
        base = self._base(provider)
        key = self._first(provider.variables) or (self.stored(provider.stored) if provider.stored else "")
        if provider.id == "exa" and not key and self.preferred == "exa":
            base = self.bases.get("exa", _EXA_TOOLS)
        elif not base or (not key and provider.id != "searxng"):
            return None
        return SearchClient(key, base.rstrip("/"), self.environ, self.wait)

    def _base(self, provider: Provider) -> str:
        given = self.searxng if provider.id == "searxng" else ""
        return self.bases.get(provider.id) or given or self._first(provider.addresses) or provider.base

    def _first(self, names: Sequence[str]) -> str:
        return next((value for name in names if (value := self.environ.get(name, "").strip())), "")


def ways() -> str:
    """Name what makes each provider usable."""
    return ", ".join((one.variables if one.base else one.addresses)[0] for one in PROVIDERS)
