"""The models of a process as a list: what they need, which can be used, and those discovered meanwhile. `selectors.py`
picks one by its selector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Self

from north_lsp.providers.compat import is_local
from north_lsp.providers.keys.credential_lookup import has_credential
from north_lsp.providers.keys.sources import NO_KEYS
from north_lsp.providers.model import DEFAULT_OUTPUT, DEFAULT_WINDOW, FREE, UNPRICED, Model, ProviderInfo


class UnknownModel(ValueError):
    """A selector that picks no model or several; the text is one line for the user."""


class ModelList:
    """The models of a process, in their order. Discovered models are added later (`add`); a model that was returned
    never changes. `problems` are lines for the user about a `models.yml` that is not used, `overrides` changes to
    models that are yet to be discovered, `order` the providers to prefer, and `found_at` when a provider was last asked
    (seconds since 1970)."""

    def __init__(
        self,
        providers: Sequence[ProviderInfo],
        models: Sequence[Model],
        *,
        environ: Mapping[str, str] | None = None,
        roles: Mapping[str, str] | None = None,
        agents: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        problems: Sequence[str] = (),
        overrides: Mapping[str, Callable[[Model], Model]] | None = None,
    ) -> None:
        self.providers = tuple(providers)
        self.models = tuple(models)
        self.environ: Mapping[str, str] = environ or {}
        self.roles: Mapping[str, str] = roles or {}
        self.agents: Mapping[str, str] = agents or {}
        self.names: Mapping[str, str] = names or {}
        self.problems = tuple(problems)
        self.overrides: Mapping[str, Callable[[Model], Model]] = overrides or {}
        self.keys = NO_KEYS
        self.order: Sequence[str] = ()
        self.found_at: dict[str, float] = {}
        self._tune: Callable[[Model], Model] = _as_it_is

    def tuned(self, tune: Callable[[Model], Model]) -> Self:
        """Apply a change to every model, present and future, and return this catalog."""
        self._tune = tune
        self.models = tuple(map(tune, self.models))
        return self

    def take(self, newer: ModelList) -> None:
        """Take over another catalog's content, but keep what was discovered at providers that are still asked."""
        providers = {info.id: info for info in newer.providers}
        found = [
            replace(model, provider=providers[model.provider.id])
            for model in self.models
            if model.source == "discovered" and _is_same_server(model.provider, providers.get(model.provider.id))
        ]
        self.providers, self.roles, self.names = newer.providers, newer.roles, newer.names
        self.agents = newer.agents
        self.problems, self.overrides = newer.problems, newer.overrides
        self.models = tuple(map(self._tune, newer.models))
        for id in dict.fromkeys(model.provider.id for model in found):
            self.add([model for model in found if model.provider.id == id])

    def recover(self, selector: str) -> Model | None:
        """Return the model of a stored `provider/id`. If its provider has not been asked yet, the model is assumed to
        exist."""
        return self.get(selector) or self._undiscovered(selector)

    def _undiscovered(self, selector: str) -> Model | None:
        """Return a model at a provider that has not listed its models yet, with the usual sizes assumed."""
        id, _, name = selector.partition("/")
        info = next((one for one in self.providers if one.id == id), None)
        if info is None or info.discovery is None or not name or id in self.found_at:
            return None
        prices = FREE if is_local(info.address_in(self.environ) or "") else UNPRICED
        usual = (DEFAULT_WINDOW, DEFAULT_OUTPUT)
        model = Model(info, name, name, name, *usual, prices, api=info.api, source="discovered", window_known=False)
        return self._discovered(model)

    def get(self, selector: str) -> Model | None:
        """Return the model with exactly this `provider/id`, None if there is none."""
        return next((model for model in self.models if model.selector == selector), None)

    def is_available(self, model: Model, environ: Mapping[str, str] | None = None) -> bool:
        """Return whether the model's provider has an address and the credentials it needs."""
        return self.is_usable(model.provider, self.environ if environ is None else environ)

    def is_usable(self, provider: ProviderInfo, environ: Mapping[str, str]) -> bool:
        """Return whether a provider has an address, and a key if it needs one."""
        routes = self.keys.routes
        if routes.is_disabled(provider.id):
            return False
        if provider.address_in(environ) is None and provider.api != "offline" and routes.find(provider.id) is None:
            return False
        return provider.keyless or has_credential(provider, environ, self.keys)

    def available(self) -> tuple[Model, ...]:
        """Return the models that can be used, in their order."""
        return tuple(model for model in self.models if self.is_available(model))

    def add(self, found: Sequence[Model], provider: str | None = None) -> bool:
        """Add discovered models and return whether anything changed. They replace their provider's earlier discovered
        models, never shipped or configured ones. `provider` names the provider in case there are none."""
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
