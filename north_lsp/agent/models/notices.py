"""Notices on the model that the user has just chosen. Pure."""

from __future__ import annotations

from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.compat import serves_tiers
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.keys.credential_lookup import require_credential
from north_lsp.providers.model import Model


def obstacles(model: Model, known: Catalog, usage: UsageChanged | None, tier: str | None = None) -> list[str]:
    """Return what gets in the way of the next request: a missing key, a conversation that is too long, a service tier
    that the provider does not have."""
    told = []
    try:
        require_credential(model, known.environ, known.keys)
    except MissingCredential as error:
        told.append(str(error))
    if usage is not None and usage.used > model.window:
        told.append(
            f"this conversation has {usage.used:,} tokens, more than {model.title} can take ({model.window:,}): its "
            "older part is summarized before the next request"
        )
    if tier is not None and not serves_tiers(model.provider.address_in(known.environ), model.api):
        told.append(f"{model.provider.title} has no service tiers; serviceTier ({tier}) is ignored for {model.title}")
    return told


def clamped(model: Model) -> list[str]:
    """Tell which thinking level is used instead of one that the model does not have."""
    if model.level is None or model.thinking is None:
        return []
    used = model.thinking.clamp(model.level)
    return [f"{model.title} has no thinking level {model.level}; {used} is used"] if used != model.level else []
