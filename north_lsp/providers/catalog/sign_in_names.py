"""Which providers users sign in to, for the answer to `initialize`. Hardly anything is loaded unless the user has a
file that names one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from north_lsp.providers.catalog.models_path import find_file
from north_lsp.storage.locations import Locations

_SETTINGS = ("config.json", "config.yml")


def sign_in_names(environ: Mapping[str, str]) -> Sequence[str]:
    """Return the ids of the providers of `models.yml` and of extensions that users sign in to, none of a file with
    errors. Runs the extensions' code, if one of them seems to have any."""
    locations = Locations.from_environment(environ)
    try:
        if any(b"oauth" in path.read_bytes() for path in _extensions(locations)):
            return _of_catalog(locations, environ)
        path = find_file(locations.config)
        if path is None or not path.is_file() or b"oauth" not in path.read_bytes():
            return ()
        from north_lsp.providers.catalog.models_file import read_models_file

        return [entry.id for entry in read_models_file(path).providers if entry.sign_in is not None]
    except (OSError, ValueError):
        return ()  # who loads the catalog reports it


def _of_catalog(locations: Locations, environ: Mapping[str, str]) -> Sequence[str]:
    from north_lsp.providers.catalog.loading import load_catalog
    from north_lsp.storage.user_settings import load_settings

    known = load_catalog(locations.config, environ, load_settings(locations).models)
    return [info.id for info in known.providers if info.sign_in is not None]


def _extensions(locations: Locations) -> Iterator[Path]:
    """Yield the files of North's own folder of extensions, and of what the setting `extensions` names: the settings are
    read only where a file of theirs has that word."""
    folder = locations.config / "extensions"
    settings = (locations.config / name for name in _SETTINGS)
    names_more = any(b"extensions" in path.read_bytes() for path in settings if path.is_file())
    if not names_more and not os.path.isdir(folder):
        return
    from north_lsp.providers.catalog.extension_places import ExtensionPlaces, places_of

    places = ExtensionPlaces(folder)
    if names_more:
        from north_lsp.storage.user_settings import load_settings

        places = places_of(locations.config, load_settings(locations).models)
    for path in places.enabled():
        yield from path.parent.glob("*.py") if path.name == "__init__.py" else (path,)
