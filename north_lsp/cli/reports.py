"""A report for the terminal: the models."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from north_lsp.server.options import Options, UsageError
from north_lsp.storage.locations import Locations

if TYPE_CHECKING:
    from north_lsp.providers.catalog.catalog import Catalog
    from north_lsp.providers.catalog.model_selection import Allowed
    from north_lsp.providers.model import Model
    from north_lsp.storage.settings import Settings


def models(options: Options, pattern: str, *, available: bool, as_json: bool) -> tuple[str, list[str]]:
    """List the models, one per line, or as JSON: what they take and cost, and why some cannot be used. Returns the
    text, and what is wrong with the settings and with models.yml."""
    from pathlib import Path

    import anyio

    from north_lsp.providers.catalog.discovery import Discoverer
    from north_lsp.providers.catalog.listing import rows, table
    from north_lsp.providers.catalog.model_selection import Allowed, prepared
    from north_lsp.providers.catalog.models_cache import ModelsCache
    from north_lsp.providers.keys.credential_lookup import rotating_keys
    from north_lsp.storage.user_settings import load_settings

    locations = Locations.from_environment(options.environ)
    everything = load_settings(locations)
    settings = everything.models
    known = prepared(options.load_catalog(settings), settings)
    cache = ModelsCache(locations.data / "models-cache.db")
    discoverer = Discoverer(known, options.environ, cache=cache, asks_local=settings.discover_local)
    discoverer.recall()
    anyio.run(discoverer.refresh)
    allowed = Allowed.by(settings, (options.path or Path.cwd()).resolve())
    found = rows(known, pattern, allowed=allowed, available=available, now=time.time())
    problems = [*known.problems, *([known.keys.problem] if known.keys.problem else []), *everything.problems]
    default = _default(options, everything, known, allowed)
    if as_json:
        listed = [row.to_json() | {"default": row.model == default} for row in found]
        return json.dumps(listed, indent=2, ensure_ascii=False), problems
    if not found:
        return (f"No model name contains {pattern!r}." if pattern else "No model can be used."), problems
    keyed = {row.model.provider.id: row.model.provider for row in found if row.reason is None}
    several = {info.title: rotating_keys(info, options.environ, known.keys) for info in keyed.values()}
    keys = [f"Keys of {title}: {known.keys.resting.shown(stored)}" for title, stored in several.items() if stored]
    return "\n".join([table(found, default), *([""] if keys else []), *keys]), problems


def _default(options: Options, settings: Settings, known: Catalog, allowed: Allowed) -> Model | None:
    """Return the model that answers if no other is chosen, None if none can."""
    try:
        return options.choose_model(settings.selected_model, known, allowed).model
    except UsageError:
        return None
