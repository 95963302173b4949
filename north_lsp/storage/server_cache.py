"""The tools that MCP servers told last: so that they are there at once the next time. May be lost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from north_lsp.storage.files import json_bytes, private_directory, read_json, short_lock, write_atomic
from north_lsp.storage.locations import Locations

_FILE = "mcp-cache.json"
_MAX_AGE = 30 * 24 * 60 * 60.0
_MAX_BYTES = 8 * 1024 * 1024
_MAX_SERVERS = 100


class ServerCache:
    """By a server's fingerprint. Its methods read and write a file: call them on a thread."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self._path = locations.data / _FILE

    def tools(self, fingerprint: str) -> Sequence[Mapping[str, Any]]:
        """Return the tools as they were kept; empty if there are none, or they are too old."""
        match self._read().get(fingerprint):
            case {"at": int() | float() as at, "tools": list(rows)} if time.time() - at < _MAX_AGE:
                return [row for row in rows if isinstance(row, dict)]
            case _:
                return ()

    def instructions(self, fingerprint: str) -> str:
        """Return what a server said about using its tools; empty if it said nothing, or too long ago."""
        match self._read().get(fingerprint):
            case {"at": int() | float() as at, "instructions": str(text)} if time.time() - at < _MAX_AGE:
                return text
            case _:
                return ""

    def keep(self, fingerprint: str, tools: Sequence[Mapping[str, Any]], instructions: str = "") -> None:
        """Keep the tools of a server, and what it says about using them, in place of those before. Raises OSError."""
        with short_lock(self._locations, "mcp-cache"):
            rows = self._read()
            rows.pop(fingerprint, None)
            said = {"instructions": instructions} if instructions else {}
            newest = dict(list(rows.items())[1 - _MAX_SERVERS :])
            data = json_bytes({**newest, fingerprint: {"at": time.time(), "tools": list(tools), **said}})
            if len(data) <= _MAX_BYTES:
                private_directory(self._path.parent)
                write_atomic(self._path, data, 0o600)

    def _read(self) -> dict[str, Any]:
        try:
            content = read_json(self._path, _MAX_BYTES)
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}
