"""Loads a process's catalog: the shipped one with the user's `models.yml` and extensions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from north_lsp.providers.catalog.catalog import Catalog, catalog
from north_lsp.providers.catalog.cloud_models import with_clouds
from north_lsp.providers.catalog.extension_places import places_of
from north_lsp.providers.catalog.models_path import find_file
from north_lsp.providers.model import FREE, Model, ProviderInfo
from north_lsp.providers.thinking import ThinkingInfo
from north_lsp.storage.model_settings import ModelSettings

SCRIPT_VARIABLE = "NORTH_TEST_PROVIDER"
_DEFAULTS = ModelSettings()


def load_catalog(config_dir: Path, environ: Mapping[str, str], settings: ModelSettings = _DEFAULTS) -> Catalog:
    """Return the shipped catalog with the user's `models.yml` and extensions. A file with errors is left out entirely
    and reported in `problems`; nothing is raised. Reads files: call it on a thread in an event loop."""
    known, places = _configured(config_dir, environ), places_of(config_dir, settings)
    if not places.may_have_any:
        return known
    from north_lsp.providers.catalog.extensions import with_extensions

    return with_extensions(known, places)


def _configured(config_dir: Path, environ: Mapping[str, str]) -> Catalog:
    shipped = _with_test_provider(with_clouds(catalog(), environ), environ)
    path = find_file(config_dir)
    if path is None:
        return Catalog(shipped.providers, shipped.models, environ=environ, problems=shipped.problems)
    from north_lsp.providers.catalog.models_file import ModelsFileError, read_models_file
    from north_lsp.providers.catalog.models_merge import merged

    try:
        return merged(shipped, read_models_file(path), environ)
    except ModelsFileError as error:
        return Catalog(shipped.providers, shipped.models, environ=environ, problems=[*shipped.problems, error.told])


def _with_test_provider(known: Catalog, environ: Mapping[str, str]) -> Catalog:
    """Return the catalog with the provider that plays a script, if the environment names one."""
    if not environ.get(SCRIPT_VARIABLE):
        return known
    info = ProviderInfo("north-test", "north-test", "Test", (), address="script:", keyless=True)
    model = Model(info, "test", "test", "Test", 200_000, 32_000, FREE, ThinkingInfo("effort"), api="north-test")
    *others, offline = known.models
    return Catalog((*known.providers, info), (*others, model, offline), problems=known.problems)
