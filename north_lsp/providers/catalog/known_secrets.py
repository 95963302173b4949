"""The secrets that North knows, for masking them. Never shown, logged or stored."""

from __future__ import annotations

from collections.abc import Mapping

from north_lsp.providers.catalog.catalog import Catalog, secret_names
from north_lsp.providers.credentials import KeySource


def known_secrets(known: Catalog, environ: Mapping[str, str]) -> frozenset[str]:
    """Return every key that North has or could use: from variables, models.yml, its store, a broker. No command of
    models.yml is run; what one would print is not among them."""
    sources = [source for model in known.models for source in model.headers.values()]
    for provider in known.providers:
        sources += [*provider.headers.values(), *([provider.key] if provider.key is not None else [])]
    values = [environ.get(name, "") for name in secret_names(known)]
    values += [*known.keys.secrets, *(_literal(source, environ) for source in sources)]
    return frozenset(value.strip() for value in values if value.strip())


def _literal(source: KeySource, environ: Mapping[str, str]) -> str:
    is_reference = source.value.startswith("!") or source.value in environ or source.variable is not None
    return "" if is_reference else source.value
