"""Which models there are, how a text picks one, and which credential a model needs."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from north_lsp.providers.base import Provider, Timeouts, Usage


class UnknownModel(ValueError):
    """A selector that picks none or several; the text is one line for the user."""


class MissingCredential(ValueError):
    """A model that cannot be used yet; the text is one line that says what to set."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens."""

    input: float
    output: float
    cache_write: float
    cache_read: float

    def cost(self, usage: Usage) -> float:
        """US dollars for one request; negative counts count as nothing."""
        parts = (
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_write, self.cache_write),
            (usage.cache_read, self.cache_read),
        )
        return sum(max(tokens, 0) * price for tokens, price in parts) / 1_000_000


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """`credentials` and `base_url` are names of environment variables; the first credential that is set wins."""

    id: str
    api: str
    title: str
    credentials: tuple[str, ...]
    base_url: str | None
    default: str


@dataclass(frozen=True, slots=True)
class Model:
    provider: ProviderInfo
    id: str
    alias: str
    title: str
    window: int
    max_output: int
    prices: Prices

    @property
    def selector(self) -> str:
        return f"{self.provider.id}/{self.id}"


@dataclass(frozen=True, slots=True)
class Catalog:
    providers: tuple[ProviderInfo, ...]
    models: tuple[Model, ...]

    def find(self, selector: str) -> Model:
        """The model that a selector picks: `provider/id`, alias, id, or a part of one. Raises UnknownModel."""
        text = selector.strip()
        for matches in (
            [model for model in self.models if model.selector == text],
            [model for model in self.models if text in (model.alias, model.id)],
            [model for model in self.models if text and text.lower() in model.selector.lower()],
        ):
            if len(matches) == 1:
                return matches[0]
            if matches:
                several = ", ".join(model.alias for model in matches[:8])
                raise UnknownModel(f"the model {selector!r} is ambiguous: choose one of {several}")
        names = [model.alias for model in self.models]
        close = difflib.get_close_matches(text, names, 3, 0.3) or names[:3]
        raise UnknownModel(f"there is no model {selector!r}; the closest are {', '.join(close)}")

    def default(self, environ: Mapping[str, str]) -> Model:
        """The shipped default of the first provider with a credential; the offline model without any."""
        usable = (provider for provider in self.providers if credential(provider, environ) is not None)
        provider = next(usable, self.providers[-1])
        return self.find(provider.default)


def credential(provider: ProviderInfo, environ: Mapping[str, str]) -> str | None:
    """The name of the variable that holds the provider's credential, or None."""
    return next((name for name in provider.credentials if environ.get(name, "").strip()), None)


def require_credential(model: Model, environ: Mapping[str, str]) -> str | None:
    """The variable to use; None for a model that needs none. Raises MissingCredential."""
    if not model.provider.credentials:
        return None
    name = credential(model.provider, environ)
    if name is None:
        raise MissingCredential(
            f"{model.title} needs a key: set {model.provider.credentials[-1]} in the environment that starts North,"
            " or choose the offline model"
        )
    return name


def secret_names() -> frozenset[str]:
    """Variables that hold credentials of North's own; no command inherits them."""
    known = {name for provider in catalog().providers for name in provider.credentials}
    return frozenset(known | {"ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "NORTH_TCP_TOKEN"})


@cache
def catalog() -> Catalog:
    """The shipped catalogue."""
    data = tomllib.loads(files(__package__).joinpath("catalog.toml").read_text("utf-8"))
    providers = {
        id: ProviderInfo(id, row["api"], row["title"], tuple(row["credentials"]), row.get("base_url"), row["default"])
        for id, row in data["providers"].items()
    }
    models = tuple(
        Model(
            providers[row["provider"]],
            row["id"],
            row["alias"],
            row["title"],
            row["window"],
            row["max_output"],
            Prices(**row["price"]),
        )
        for row in data["models"]
    )
    return Catalog(tuple(providers.values()), models)


def make_provider(model: Model, environ: Mapping[str, str], timeouts: Timeouts) -> Provider:
    """The way to reach a model. Imports its vendor's SDK; raises MissingCredential."""
    name = require_credential(model, environ)
    if model.provider.api == "anthropic-messages" and name is not None:
        from north_lsp.providers.anthropic import AnthropicProvider

        base_url = environ.get(model.provider.base_url or "") or None
        return AnthropicProvider(environ[name].strip(), base_url, timeouts, is_token=name.endswith("_TOKEN"))
    from north_lsp.providers.offline.provider import OfflineProvider

    return OfflineProvider(delay=_offline_delay(environ))


def _offline_delay(environ: Mapping[str, str]) -> float:
    """Seconds between the offline model's words, so that a demonstration can be watched (`NORTH_OFFLINE_DELAY_MS`)."""
    text = environ.get("NORTH_OFFLINE_DELAY_MS", "")
    return min(int(text), 1000) / 1000 if text.isdecimal() else 0.0
