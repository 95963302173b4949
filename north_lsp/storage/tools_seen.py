"""How the tools of MCP servers were described when they were first seen: whoever describes one differently later is
not believed. Unlike the cache it has no age, and is the user's to remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from north_lsp.storage.files import json_bytes, private_directory, read_json, short_lock, write_atomic
from north_lsp.storage.locations import Locations

_FILE = "mcp-tools.json"
_MAX_BYTES = 16 * 1024 * 1024
_MAX_SERVERS = 500
_MAX_TOOLS = 1000


class ToolsSeen:
    """By a server's fingerprint. Its methods read and write a file: call them on a thread."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self._path = locations.data / _FILE

    def first(self, fingerprint: str, now: Mapping[str, str]) -> Mapping[str, str]:
        """Return the digests with which the tools of a server were first seen, by name, and note those that are seen
        for the first time `now`; of a server that has named very many, no further one. Raises OSError, ValueError if
        that cannot be read or written."""
        known = _tools(self._read(), fingerprint)
        if now.keys() <= known.keys() or len(known) >= _MAX_TOOLS:
            return known
        with short_lock(self._locations, "mcp-tools"):
            servers = self._read()
            known = _tools(servers, fingerprint)
            known = dict(list({**known, **{name: now[name] for name in now if name not in known}}.items())[:_MAX_TOOLS])
            servers.pop(fingerprint, None)
            newest = list(servers.items())[1 - _MAX_SERVERS :]
            while len(data := json_bytes({**dict(newest), fingerprint: known})) > _MAX_BYTES:
                del newest[: len(newest) // 10 + 1]
            private_directory(self._path.parent)
            write_atomic(self._path, data, 0o600)
        return known

    def forget(self, fingerprint: str) -> None:
        """Forget the tools of a server: they are believed as they are seen next. Raises OSError, ValueError."""
        with short_lock(self._locations, "mcp-tools"):
            servers = self._read()
            if servers.pop(fingerprint, None) is not None:
                write_atomic(self._path, json_bytes(servers), 0o600)

    def _read(self) -> dict[str, Any]:
        try:
            content = read_json(self._path, _MAX_BYTES)
        except FileNotFoundError:
            return {}
        except RecursionError as error:
            raise ValueError(f"{self._path} cannot be read: remove it") from error
        if not isinstance(content, dict):
            raise ValueError(f"{self._path} is not an object: remove it")
        return content


def _tools(servers: Mapping[str, Any], fingerprint: str) -> dict[str, str]:
    rows = servers.get(fingerprint)
    return {name: text for name, text in rows.items() if isinstance(text, str)} if isinstance(rows, dict) else {}
