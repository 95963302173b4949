"""Which models there are, and what they need. The shipped ones are data (`catalog.toml`); the user's `models.yml` and
what servers say of themselves are added. How a text picks a model is in `selectors.py`. Imports nothing heavy."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from north_lsp.providers.compat import is_local
from north_lsp.providers.keys.credential_lookup import has_credential
from north_lsp.providers.keys.sources import NO_KEYS
from north_lsp.providers.model import (
    DEFAULT_OUTPUT,
    DEFAULT_WINDOW,
    FREE,
    UNPRICED,
    Model,
    Prices,
    ProviderInfo,
)
from north_lsp.providers.thinking import ThinkingInfo

SCRIPT_VARIABLE = "NORTH_TEST_PROVIDER"


class UnknownModel(ValueError):
    """A selector that picks none or several; the text is one line for the user."""


class Catalog:
    """The models of a process, in their order. What servers are found to offer is added while it lives (`add`); a model
    once given out stays as it was. `problems` are lines for the user about a `models.yml` that is not used, `overrides`
    changes to models that are yet to be discovered, `order` the providers to prefer, and `found_at` when a provider was
    last asked (seconds since 1970)."""

    def __init__(
        self,
        providers: Sequence[ProviderInfo],
        models: Sequence[Model],
        *,
        environ: Mapping[str, str] | None = None,
        roles: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        problems: Sequence[str] = (),
        overrides: "Mapping[str, Callable[[Model], Model]] | None" = None,
    ) -> None:
        self.providers = tuple(providers)
        self.models = tuple(models)
        self.environ: Mapping[str, str] = environ or {}
        self.roles: Mapping[str, str] = roles or {}
        self.names: Mapping[str, str] = names or {}
        self.problems = tuple(problems)
        self.overrides: Mapping[str, Callable[[Model], Model]] = overrides or {}
        self.keys = NO_KEYS
        self.order: Sequence[str] = ()
        self.found_at: dict[str, float] = {}
        self._tune: Callable[[Model], Model] = _as_it_is

    def tuned(self, tune: Callable[["Model"], "Model"]) -> "Catalog":
        """This catalogue, with a change for every model that is or comes into it."""
        self._tune = tune
        self.models = tuple(map(tune, self.models))
        return self

    def take(self, newer: "Catalog") -> None:
        """Become what another catalogue says, and keep what was discovered at providers that are still asked."""
        providers = {info.id: info for info in newer.providers}
        found = [
            replace(model, provider=providers[model.provider.id])
            for model in self.models
            if model.source == "discovered" and _is_same_server(model.provider, providers.get(model.provider.id))
        ]
        self.providers, self.roles, self.names = newer.providers, newer.roles, newer.names
        self.problems, self.overrides = newer.problems, newer.overrides
        self.models = tuple(map(self._tune, newer.models))
        for id in dict.fromkeys(model.provider.id for model in found):
            self.add([model for model in found if model.provider.id == id])

    def recover(self, selector: str) -> "Model | None":
        """The model of a stored `provider/id`; one that has yet to be asked for is taken at its word."""
        return self.get(selector) or self._unasked(selector)

    def _unasked(self, selector: str) -> "Model | None":
        """A model at a provider that has not said yet which it has: what is usual is assumed of it."""
        id, _, name = selector.partition("/")
        info = next((one for one in self.providers if one.id == id), None)
        if info is None or info.discovery is None or not name or id in self.found_at:
            return None
        prices = FREE if is_local(info.address_in(self.environ) or "") else UNPRICED
        usual = (DEFAULT_WINDOW, DEFAULT_OUTPUT)
        model = Model(info, name, name, name, *usual, prices, api=info.api, source="discovered", window_known=False)
        return self._discovered(model)

    def current(self, model: "Model") -> "Model":
        """The model as the catalogue has it now, with the same level; the model itself, if it is not there any more.
        What stood for a name may have come to be a model."""
        if model.problem:
            from north_lsp.providers.catalog.unknown import asked_for

            found = asked_for(self, model.id)
            return found.with_level(found.level or model.level)
        now = self.get(model.selector)
        return model if now is None else now.with_level(model.level)

    def find(self, selector: str) -> Model:
        """The model that a selector picks: a role, `provider/id`, alias, id, or a part of one, each with a thinking
        level behind it or not (`sonnet-4:high`). Raises UnknownModel."""
        from north_lsp.providers.catalog import selectors

        return selectors.find(self, selector)

    def get(self, selector: str) -> Model | None:
        """The model with exactly this `provider/id`."""
        return next((model for model in self.models if model.selector == selector), None)

    def default(self, environ: Mapping[str, str]) -> Model:
        """The default role if it can be used, else the shipped default of the first provider with a credential, else
        the first model that can be used: the offline model, if there is no other."""
        from north_lsp.providers.catalog import selectors

        return selectors.default(self, environ)

    def is_available(self, model: Model, environ: Mapping[str, str] | None = None) -> bool:
        """Whether it can be used as far as credentials go."""
        return self.is_usable(model.provider, self.environ if environ is None else environ)

    def is_usable(self, provider: ProviderInfo, environ: Mapping[str, str]) -> bool:
        """Whether a provider has an address, and a key if it wants one."""
        if provider.address_in(environ) is None and provider.api != "offline":
            return False
        return provider.keyless or has_credential(provider, environ, self.keys)

    def available(self) -> tuple[Model, ...]:
        """The models that can be used, in their order."""
        return tuple(model for model in self.models if self.is_available(model))

    def add(self, found: Sequence[Model], provider: str | None = None) -> bool:
        """Put discovered models in: they take the place of their provider's earlier discovered ones, never of shipped
        or configured ones. `provider` is named where it may have none. Says whether anything changed."""
        ids = {model.provider.id for model in found} | ({provider} if provider is not None else set())
        kept = [model for model in self.models if model.source != "discovered" or model.provider.id not in ids]
        known = {model.selector for model in kept}
        new = [self._discovered(model) for model in found if model.selector not in known]
        offline = [model for model in kept if model.api == "offline"]
        models = (*(model for model in kept if model.api != "offline"), *new, *offline)
        changed = models != self.models
        self.models = models
        return changed

    def _discovered(self, model: Model) -> Model:
        change = self.overrides.get(model.selector)
        return self._tune(model if change is None else change(model))


def _as_it_is(model: Model) -> Model:
    return model


def _is_same_server(old: ProviderInfo, new: ProviderInfo | None) -> bool:
    return new is not None and (old.address, old.discovery, old.api) == (new.address, new.discovery, new.api)


def secret_names(known: Catalog | None = None) -> frozenset[str]:
    """Variables that hold credentials of North's own; no command inherits them."""
    names = {"ANTHROPIC_AUTH_TOKEN", "NORTH_TCP_TOKEN", "NORTH_AUTH_BROKER_TOKEN"}
    known = known or catalog()
    names.update(known.keys.variables)
    sources = [source for model in known.models for source in model.headers.values()]
    for provider in known.providers:
        names.update(provider.credentials)
        sources += [*provider.headers.values(), *([provider.key] if provider.key is not None else [])]
    names.update(source.variable for source in sources if source.variable is not None)
    return frozenset(names)


@cache
def catalog() -> Catalog:
    """The shipped catalogue alone."""
    data = tomllib.loads(files(__package__).joinpath("catalog.toml").read_text("utf-8"))
    providers = {
        id: ProviderInfo(
            id,
            row["api"],
            row["title"],
            tuple(row["credentials"]),
            row.get("base_url"),
            row.get("default"),
            row.get("address"),
            row.get("fast"),
            row.get("keyless", False),
            row.get("discovery"),
            compat=row.get("compat", {}),
            anthropic_address=row.get("anthropic_address"),
        )
        for id, row in data["providers"].items()
    }
    models = tuple(
        Model(
            providers[row["provider"]],
            row["id"],
            row.get("alias", row["id"]),
            row["title"],
            row["window"],
            row["max_output"],
            Prices(**row["price"]) if "price" in row else UNPRICED,
            _thinking(row.get("thinking")),
            api=providers[row["provider"]].api,
            images=row.get("images", data["providers"][row["provider"]].get("images", False)),
        )
        for row in data["models"]
    )
    return Catalog(tuple(providers.values()), models)


def _thinking(row: dict[str, Any] | None) -> ThinkingInfo | None:
    if row is None:
        return None
    return ThinkingInfo(row["mode"], row.get("budget", 0), tuple(row.get("efforts", ThinkingInfo("effort").efforts)))


def load_catalog(config_dir: Path, environ: Mapping[str, str]) -> Catalog:
    """The shipped catalogue with the user's `models.yml` and extensions. What has errors is left out as a whole, and
    said in `problems`; nothing is raised. Reads files: call it on a thread where somebody waits."""
    known = _configured(config_dir, environ)
    if not (config_dir / "extensions").is_dir():
        return known
    from north_lsp.providers.catalog.extensions import with_extensions

    return with_extensions(known, config_dir / "extensions")


def _configured(config_dir: Path, environ: Mapping[str, str]) -> Catalog:
    shipped = _with_test_provider(catalog(), environ)
    from north_lsp.providers.catalog.models_file import find_file

    path = find_file(config_dir)
    if path is None:
        return Catalog(shipped.providers, shipped.models, environ=environ)
    from north_lsp.providers.catalog.models_file import ModelsFileError, read_models_file
    from north_lsp.providers.catalog.models_merge import merged

    try:
        return merged(shipped, read_models_file(path), environ)
    except ModelsFileError as error:
        return Catalog(shipped.providers, shipped.models, environ=environ, problems=[str(error)])


def _with_test_provider(known: Catalog, environ: Mapping[str, str]) -> Catalog:
    """With the provider that plays a script, if the environment names one."""
    if not environ.get(SCRIPT_VARIABLE):
        return known
    info = ProviderInfo("north-test", "north-test", "Test", (), address="script:", keyless=True)
    model = Model(info, "test", "test", "Test", 200_000, 32_000, FREE, ThinkingInfo("effort"), api="north-test")
    *others, offline = known.models
    return Catalog((*known.providers, info), (*others, model, offline))
