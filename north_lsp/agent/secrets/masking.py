"""Makes the `Secrets` of a conversation, for its folders, and of requests outside conversations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.secrets.sources import Sources
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.known_secrets import known_secrets
from north_lsp.storage.locations import Locations
from north_lsp.storage.secret_key import secret_key
from north_lsp.storage.secret_settings import SecretSettings


def secrets_in(
    roots: Sequence[Path],
    locations: Locations,
    environ: Mapping[str, str],
    catalog: Catalog,
    settings: Callable[[], SecretSettings],
    given: Callable[[], Collection[str]],
) -> Secrets:
    """Make the placeholders of a conversation in these folders, none of which have been used yet. `given` returns what
    is secret of what MCP servers were given."""
    sources = Sources(environ, roots, locations.config, partial(known_secrets, catalog, environ), given)
    return Secrets(sources, cache(partial(secret_key, locations)), lambda: is_on(settings(), roots))


def is_on(settings: SecretSettings, roots: Sequence[Path]) -> bool:
    """Tell whether secrets are masked: not in folders for which the user has switched that off."""
    if not settings.enabled:
        return False
    off = [Path(folder).expanduser() for folder in settings.off_in]
    return not (
        off and roots and all(any(root.is_relative_to(one) for one in off if one.is_absolute()) for root in roots)
    )
