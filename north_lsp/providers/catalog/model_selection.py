"""Decides which models may be used in a workspace, and which one a conversation starts with. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.keys.credential_lookup import require_credential
from north_lsp.providers.model import Model
from north_lsp.providers.thinking import as_level
from north_lsp.storage.model_settings import ModelSettings, Scoped


@dataclass(frozen=True, slots=True)
class Choice:
    """A model, and in `notices`, one line each, what was requested but could not be used."""

    model: Model
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the settings allow in one workspace; empty `models` allows all models."""

    models: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()

    @classmethod
    def by(cls, settings: ModelSettings, folder: Path | None) -> Allowed:
        return cls(_held(settings.enabled, folder), frozenset(_held(settings.disabled_providers, folder)))

    def allows(self, model: Model) -> bool:
        """Return whether a model may be used. The offline model always may."""
        if model.api == "offline":
            return True
        if self._is_off(model):
            return False
        return not self.models or any(fits(pattern, model) for pattern in self.models)

    def _is_off(self, model: Model) -> bool:
        return model.provider.id in self.without or "*" in self.without

    def reason_against(self, model: Model) -> str | None:
        if self.allows(model):
            return None
        if self._is_off(model):
            return f"the provider {model.provider.id} is disabled here (disabledProviders)"
        return "it is not listed in enabledModels"

    def preferred(self, known: Catalog, environ: Mapping[str, str]) -> Model | None:
        """Return the first of the enabled models that can be used, in the order of the setting, None if there is
        none."""
        for pattern in self.models:
            for model in known.models:
                if fits(pattern, model) and self.allows(model) and known.is_available(model, environ):
                    return _with_level(model, pattern)
        return None


ALL_MODELS = Allowed()


def larger_models(known: Catalog, model: Model) -> Sequence[Model]:
    """Return the models that can continue a conversation that is too long for `model`: the one that models.yml names
    for that, else those of its provider and API with larger windows, the smallest first."""
    if model.promotion_target is not None:
        here = known.get(f"{model.provider.id}/{model.promotion_target}")
        try:
            return [here or known.find(model.promotion_target)]
        except UnknownModel:
            return []
    same = [one for one in known.models if (one.provider.id, one.api) == (model.provider.id, model.api)]
    return sorted((one for one in same if one.window > model.window), key=lambda one: one.window)


def fits(pattern: str, model: Model) -> bool:
    """Return whether a selector in a list names the model; `*` and `?` are wildcards."""
    base, _, tail = pattern.rpartition(":")
    name = base if base and as_level(tail) is not None else pattern
    names = (model.selector, model.alias, model.id, f"{model.provider.id}/{model.alias}")
    return name in names or any(fnmatchcase(one.lower(), name.lower()) for one in names)


def choose(
    known: Catalog, environ: Mapping[str, str], *, asked: str | None, saved: str | None, allowed: Allowed = ALL_MODELS
) -> Choice:
    """Choose the model asked for, else the first enabled one, else the saved choice, else the default of those that can
    be used. Raises UnknownModel or MissingCredential for an asked-for model only."""
    if asked is not None:
        model = known.find(asked)
        require_credential(model, environ, known.keys)
        return Choice(model)
    preferred = allowed.preferred(known, environ)
    if preferred is not None:
        return Choice(preferred)
    notices = []
    if allowed.models:
        notices.append(f"no model in enabledModels can be used ({', '.join(allowed.models)})")
    if saved is not None:
        problem = _problem(known, environ, saved, allowed)
        if problem is None:
            return Choice(known.find(saved))
        notices.append(f"the saved model {saved!r} cannot be used: {problem}")
    model = _default(known, environ, allowed)
    return Choice(model, tuple(f"{notice}; {model.title} answers instead" for notice in notices))


def _held(rows: Sequence[Scoped], folder: Path | None) -> tuple[str, ...]:
    return tuple(value for row in rows if row.holds_in(folder) for value in row.values)


def _problem(known: Catalog, environ: Mapping[str, str], selector: str, allowed: Allowed) -> str | None:
    try:
        model = known.find(selector)
        require_credential(model, environ, known.keys)
    except (UnknownModel, MissingCredential) as error:
        return str(error)
    return allowed.reason_against(model)


def _default(known: Catalog, environ: Mapping[str, str], allowed: Allowed) -> Model:
    model = known.default(environ)
    if allowed.allows(model):
        return model
    usable = [one for one in known.models if allowed.allows(one) and known.is_available(one, environ)]
    return usable[0]


def _with_level(model: Model, pattern: str) -> Model:
    level = as_level(pattern.rpartition(":")[2])
    return model if level is None or ":" not in pattern else model.with_level(level)


def prepared(known: Catalog, settings: ModelSettings) -> Catalog:
    """Apply the settings to the catalog: roles, the order of providers, and changes to all models."""
    known.roles = {**known.roles, **settings.roles}
    known.agents = {**known.agents, **settings.agents}
    known.order = settings.provider_order
    return known.tuned(partial(tune, settings=settings))


def tune(model: Model, settings: ModelSettings) -> Model:
    """Return a model with the settings applied: how long its answers may be, what caching for an hour costs, and which
    API a Kimi model is asked through."""
    anthropic = model.provider.anthropic_address
    if settings.kimi_format == "anthropic" and anthropic is not None and model.api == "openai-completions":
        model = replace(model, api="anthropic-messages", address=anthropic)
    prices = model.prices
    if settings.cache_retention == "long" and model.api == "anthropic-messages":
        prices = replace(prices, cache_write=2 * prices.input)
    return replace(model, answer_tokens=settings.max_output_tokens, prices=prices)
