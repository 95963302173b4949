"""Which Python files of one project the user lets run, each as it was then. Kept with the user's own data, never in the
project."""

from __future__ import annotations

import hashlib
from pathlib import Path

from north_lsp.storage.files import MAX_CONFIG_BYTES, json_bytes, private_directory, read_json, short_lock, write_atomic
from north_lsp.storage.locations import Locations


class AcceptedCode:
    """The accepted files of one project, read again each time. Its methods read and write files: call them on a
    thread."""

    def __init__(self, locations: Locations, project_hash: str) -> None:
        self._locations = locations
        self._lock_name = f"code-{project_hash}"
        self._path = locations.project(project_hash) / "code.json"

    def has(self, path: Path, text: str) -> bool:
        """Tell whether a file may run as it is now. A store that cannot be read has none."""
        return self._read().get(str(path)) == _digest(text)

    def add(self, path: Path, text: str) -> None:
        """Let a file run as it is now. Raises OSError."""
        with short_lock(self._locations, self._lock_name):
            content = {"version": 1, "accepted": {**self._read(), str(path): _digest(text)}}
            private_directory(self._path.parent)
            write_atomic(self._path, json_bytes(content), 0o600)

    def _read(self) -> dict[str, object]:
        try:
            content = read_json(self._path, MAX_CONFIG_BYTES)
        except (OSError, ValueError, RecursionError):
            return {}
        rows = content.get("accepted") if isinstance(content, dict) else None
        return rows if isinstance(rows, dict) else {}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
