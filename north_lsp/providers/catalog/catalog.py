"""The catalog of models and what they need. The shipped ones are data (`catalog.toml`, and `catalog.json` made from it,
which is read quicker); the user's `models.yml` and what servers report are added (`loading.py`). Imports nothing
heavy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from north_lsp.providers.catalog import selectors
from north_lsp.providers.catalog.model_list import ModelList
from north_lsp.providers.catalog.unknown import asked_for
from north_lsp.providers.model import UNPRICED, Model, Prices, ProviderInfo
from north_lsp.providers.thinking import ThinkingInfo


class Catalog(ModelList):
    """The list of models, and how a selector picks one of them."""

    def current(self, model: Model) -> Model:
        """Return the model as the catalog has it now, with the same level, or the model itself if it is gone. A
        placeholder for an unknown name becomes the model if one has that name by now."""
        if model.problem:
            found = asked_for(self, model.id)
            return found.with_level(found.level or model.level)
        now = self.get(model.selector)
        return model if now is None else now.with_level(model.level)

    def find(self, selector: str) -> Model:
        """Return the model that a selector picks: a role, `provider/id`, alias, id, or part of one, each optionally
        followed by a thinking level (`sonnet-4:high`). Raises UnknownModel."""
        return selectors.find(self, selector)

    def is_left_open(self, selector: str) -> bool:
        """Tell whether a selector is a role for which the user has named no model."""
        role = selectors.role_of(selector.partition(":")[0])
        return role is not None and not selectors.is_role_set(self, role)

    def default(self, environ: Mapping[str, str]) -> Model:
        """Return the model of the default role if it can be used, else the shipped default of the first provider with a
        credential, else the first model that can be used: the offline model, if there is no other."""
        return selectors.default(self, environ)


def secret_names(known: Catalog | None = None) -> frozenset[str]:
    """Return the variables that hold North's own credentials; no command inherits them."""
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
    """Return the shipped catalog alone."""
    data = json.loads(Path(__file__).with_name("catalog.json").read_text("utf-8"))
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
