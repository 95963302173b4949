"""Which model learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.agent.models.choice import ModelChoice
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.model import Model


def learning_model(choice: ModelChoice, environ: Mapping[str, str], roles: Sequence[str]) -> Model:
    """Return the model of the first role that the user has set and that can be used, else the one that answers. Raises
    ValueError if that one cannot be asked."""
    catalog = choice.models.catalog

    def usable(model: Model) -> bool:
        can = model.api != "offline" and not model.problem and catalog.is_available(model, environ)
        return can and choice.allowed.allows(model)

    for role in roles:
        if catalog.roles.get(role) or environ.get(f"NORTH_{role.upper()}_MODEL", "").strip():
            try:
                found = catalog.find(role)
            except UnknownModel:
                continue
            if usable(found):
                return found
    if not usable(choice.model):
        raise ValueError(f"{choice.model.title} cannot do this: choose another model with `/model`")
    return choice.model
