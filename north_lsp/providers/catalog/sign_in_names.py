"""Which providers users sign in to, for the answer to `initialize`. Hardly anything is loaded unless the user has a
file that names one."""

from collections.abc import Mapping, Sequence

from north_lsp.providers.catalog.models_path import find_file
from north_lsp.storage.locations import Locations


def sign_in_names(environ: Mapping[str, str]) -> Sequence[str]:
    """Return the ids of the providers of `models.yml` that users sign in to, none of a file with errors. What an
    extension registers is not known before its code has run."""
    try:
        path = find_file(Locations.from_environment(environ).config)
        if path is None or not path.is_file() or b"oauth" not in path.read_bytes():
            return ()
        from north_lsp.providers.catalog.models_file import read_models_file

        return [entry.id for entry in read_models_file(path).providers if entry.sign_in is not None]
    except (OSError, ValueError):
        return ()  # who loads the catalog reports it
