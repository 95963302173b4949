"""Writes down why the program ended, for a report."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from north_lsp import __version__
from north_lsp.storage.diagnostics_log import crash_name
from north_lsp.storage.files import private_directory, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.masking import masked


def keep_crash(error: BaseException, environ: Mapping[str, str]) -> Path | None:
    """Write an exception to `<state>/crash/`, without secrets. Returns the file; None if that is not possible."""
    text = "".join(traceback.format_exception(error))
    words = f"North {__version__}, Python {sys.version.split()[0]}, {' '.join(sys.argv[1:])}\n\n{text}"
    with suppress(OSError, ValueError):
        folder = private_directory(Locations.from_environment(environ).crashes)
        path = folder / f"{crash_name()}.txt"
        write_atomic(path, masked(words).encode("utf-8", "replace"))
        return path
    return None
