"""Finds the folder that is the project, and the short name that North's own data uses for it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

_MARKERS = (".git", ".hg", ".north")
_HASH_DIGITS = 16


def find_root(start: Path) -> Path:
    """Return the nearest folder from `start` upwards that holds `.git` (folder or file), `.hg` or `.north`, else
    `start`.

    `start` may be a file. The home directory and `/` are roots only when the search starts there.
    """
    first = start.absolute()
    if first.is_file():
        first = first.parent
    home = _home()
    for folder in (first, *first.parents):
        # North's own data is in ~/.north, so the home directory would always look like a project.
        if folder != first and (folder == folder.parent or os.path.realpath(folder) == home):
            break
        if any(os.path.lexists(folder / marker) for marker in _MARKERS):
            return folder
    return first


def project_hash(root: Path) -> str:
    """Return sixteen hex digits that identify the real path of a root."""
    drive, rest = os.path.splitdrive(os.path.realpath(root))
    return hashlib.sha256(os.fsencode(drive.lower() + rest)).hexdigest()[:_HASH_DIGITS]


def _home() -> str | None:
    try:
        return os.path.realpath(Path.home())
    except RuntimeError:
        return None
