"""Makes a model's provider: a vendor's, the offline one, a scripted one, the user's own, or one that reports a
problem."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from north_lsp.providers.base import DEFAULT_TIMEOUTS, Provider, Timeouts
from north_lsp.providers.catalog.loading import SCRIPT_VARIABLE
from north_lsp.providers.keys.sources import NO_KEYS, Keys
from north_lsp.providers.model import NO_EXTRAS, SUMMARIES, Extras, Model
from north_lsp.storage.switches import number


def make_provider(
    model: Model,
    environ: Mapping[str, str],
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    keys: Keys = NO_KEYS,
    extras: Extras = NO_EXTRAS,
) -> Provider:
    """Make the provider that reaches a model. Imports its vendor's SDK and may run a command, so call it on a thread.
    Raises MissingCredential."""
    if model.problem:
        from north_lsp.providers.catalog.unknown import UnknownProvider

        return UnknownProvider(model.problem)
    if model.provider.stream is not None and model.provider.has_no_server:
        from north_lsp.providers.catalog.extensions import ExtensionProvider

        return ExtensionProvider(model.provider.stream, model.provider.title)
    if model.provider.api == "north-test":
        from north_lsp.providers.adapters.scripted import ScriptedProvider

        return ScriptedProvider(Path(environ.get(SCRIPT_VARIABLE, "")))
    if model.provider.api == "offline":
        from north_lsp.providers.offline.provider import OfflineProvider

        return OfflineProvider(delay=_offline_delay(environ))
    if model.provider.api == SUMMARIES:
        from north_lsp.providers.adapter_factory import make_summary_endpoint

        return make_summary_endpoint(model, environ, timeouts)
    from north_lsp.providers.adapter_factory import make_remote

    return make_remote(model, environ, timeouts, keys, extras)


def _offline_delay(environ: Mapping[str, str]) -> float:
    """Return the pause in seconds between the offline model's words, for demonstrations (`NORTH_OFFLINE_DELAY_MS`)."""
    return min(number(environ, "NORTH_OFFLINE_DELAY_MS", 0), 1000) / 1000
