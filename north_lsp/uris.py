"""Reads the `file:` URIs of clients. Imports nothing of ours."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit


def local_path(uri: object) -> Path | None:
    """Return the absolute local path that a `file:` URI names; None for anything else."""
    try:
        parts = urlsplit(uri) if isinstance(uri, str) else None
    except ValueError:
        return None
    if parts is None or parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    if os.name == "nt" and path[2:3] == ":":
        path = path[1:]  # `/c:/folder`
        return Path(path) if os.path.isabs(path) and "\0" not in path else None
    return Path(path) if path.startswith("/") and "\0" not in path else None
