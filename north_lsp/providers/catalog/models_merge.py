"""Merges `models.yml` into the shipped catalog: provider overrides, then model overrides, then the file's own models.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from north_lsp.errors import Problem
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.models_entries import ModelEntry, ModelsFile, ProviderEntry
from north_lsp.providers.compat import is_local
from north_lsp.providers.model import (
    DEFAULT_OUTPUT,
    DEFAULT_WINDOW,
    FREE,
    NO_TRANSFORM,
    UNPRICED,
    Model,
    Prices,
    ProviderInfo,
)
from north_lsp.providers.thinking import ThinkingInfo

_DAY = lazy_pattern(r"-(?:\d{8}|\d{4}-\d\d-\d\d|latest)$")
"""What the ids of two versions of a model differ in, which have the same price."""
DEFAULT_THINKING = ThinkingInfo("effort", levels=("off", "minimal", "low", "medium", "high"))


def merged(shipped: Catalog, file: ModelsFile, environ: Mapping[str, str]) -> Catalog:
    """Return the merged catalog. Configured providers follow the shipped ones; the offline model is last."""
    providers = {info.id: info for info in shipped.providers}
    models = {model.selector: model for model in shipped.models}
    problems = [*shipped.problems]
    overrides: dict[str, Callable[[Model], Model]] = {}
    for entry in file.providers:
        info = providers[entry.id] = _provider(providers.get(entry.id), entry)
        for selector, model in models.items():
            if model.provider.id == entry.id:
                models[selector] = replace(model, provider=info, api=entry.api or model.api)
        for one in (*entry.overrides, *entry.models):
            selector = f"{entry.id}/{one.id}"
            if one in entry.overrides and selector not in models:
                if info.discovery is not None:
                    overrides[selector] = partial(_model, entry=one)
                else:
                    text = f"{file.path}: {entry.id} has no model {one.id!r} to override"
                    problems.append(Problem(text, file.path, f"providers.{entry.id}.modelOverrides.{one.id}"))
                continue
            base = models.get(selector) if one in entry.overrides else None
            models[selector] = _model(base or _blank(info, one, environ, shipped), one)
    offline = providers.pop("offline")
    ordered = sorted(models.values(), key=lambda model: model.api == "offline")
    return Catalog(
        (*providers.values(), offline),
        ordered,
        environ=environ,
        roles=file.roles,
        agents=file.agents,
        names=file.names,
        problems=problems,
        overrides=overrides,
    )


def _provider(known: ProviderInfo | None, entry: ProviderEntry) -> ProviderInfo:
    info = known or ProviderInfo(entry.id, entry.api or "openai-completions", entry.id, ())
    variables = (entry.variable,) if entry.variable is not None else ()
    return replace(
        info,
        api=entry.api or info.api,
        # The file's address wins over the variable that moves a shipped provider.
        base_url=None if entry.base_url is not None else info.base_url,
        address=entry.base_url or info.address,
        credentials=(*(name for name in info.credentials if name not in variables), *variables),
        key=entry.key or info.key,
        keyless=info.keyless if entry.keyless is None else entry.keyless,
        auth_header=info.auth_header if entry.auth_header is None else entry.auth_header,
        headers={**info.headers, **entry.headers},
        compat=deep({**info.compat}, entry.compat),
        transform=entry.transform if entry.transform != NO_TRANSFORM else info.transform,
        discovery=entry.discovery or info.discovery,
        sign_in=entry.sign_in or info.sign_in,
        anthropic_address=None if entry.base_url or entry.api else info.anthropic_address,
    )


def _blank(info: ProviderInfo, entry: ModelEntry, environ: Mapping[str, str], shipped: Catalog) -> Model:
    address = info.address_in(environ)
    prices = FREE if address is not None and is_local(address) else _price_of_family(info, address, entry.id, shipped)
    return Model(
        info,
        entry.id,
        entry.id,
        entry.id,
        DEFAULT_WINDOW,
        DEFAULT_OUTPUT,
        prices,
        api=info.api,
        source="models.yml",
        window_known=False,
    )


def _price_of_family(info: ProviderInfo, address: str | None, id: str, shipped: Catalog) -> Prices:
    """Return the price of a model of which another day's version is known, where its own maker serves it."""
    known = [one for one in shipped.models if one.provider.id == info.id and one.provider.address == address]
    return next((one.prices for one in known if _family(one.id) == _family(id)), UNPRICED)


def _family(id: str) -> str:
    return _DAY.sub("", id)


def _model(base: Model, entry: ModelEntry) -> Model:
    thinking = base.thinking
    if entry.thinking is not None:
        thinking = entry.thinking
    elif entry.reasoning is not None:
        thinking = (thinking or DEFAULT_THINKING) if entry.reasoning else None
    window = entry.window or base.window
    return replace(
        base,
        title=entry.name or base.title,
        window=window,
        window_known=entry.window is not None or base.window_known,
        max_output=min(entry.max_output or base.max_output, window),
        prices=entry.cost or base.prices,
        thinking=thinking,
        wire_id=entry.wire_id or base.wire_id,
        promotion_target=entry.promotion_target or base.promotion_target,
        api=entry.api or base.api,
        images=base.images if entry.images is None else entry.images,
        headers={**base.headers, **entry.headers},
        compat=deep({**base.compat}, entry.compat),
        transform=entry.transform if entry.transform != NO_TRANSFORM else base.transform,
    )


def deep(base: dict[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """Put `top` over `base`, which is changed; nested objects are merged."""
    for key, value in top.items():
        before = base.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            base[key] = deep({**before}, value)
        else:
            base[key] = value
    return base
