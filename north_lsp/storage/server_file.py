"""The user's own file of MCP servers, `<config>/mcp.json`: a server is added or removed, and the rest stays as it is
written, comments too."""

from __future__ import annotations

import json
from collections.abc import Mapping

from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, short_lock, write_atomic
from north_lsp.storage.json_edit import with_value, without_key
from north_lsp.storage.locations import Locations
from north_lsp.storage.relaxed_json import JsonError, parse

_TABLE = "mcpServers"


class ServerNotWritten(ValueError):
    """The file cannot be changed; the text says why, and what to do."""


class ServerFile:
    """Reads and writes the user's `mcp.json`. Its methods block, so call them on a thread. They raise ServerNotWritten,
    OSError."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self.path = locations.config / "mcp.json"

    def add(self, name: str, entry: Mapping[str, object]) -> None:
        """Add a server. One of that name must not be there."""
        with short_lock(self._locations, "mcp-json"):
            text, before = self._read()
            if name in (servers := _servers(before)):
                raise ServerNotWritten(f"{self.path} has an MCP server {name} already: `/mcp remove {name}` removes it")
            if not text:
                private_directory(self.path.parent)
                data = json.dumps({_TABLE: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
                write_atomic(self.path, data.encode(), 0o600)
                return
            changed = with_value(text, f"{_TABLE}.{name}" if servers else _TABLE, entry if servers else {name: entry})
            self._write(changed, {**before, _TABLE: {**servers, name: entry}})

    def remove(self, name: str) -> bool:
        """Remove a server; False if the file does not have it."""
        with short_lock(self._locations, "mcp-json"):
            text, before = self._read()
            servers = _servers(before)
            if name not in servers:
                return False
            left = {key: value for key, value in servers.items() if key != name}
            changed = without_key(text, f"{_TABLE}.{name}") if left else with_value(text, _TABLE, {})
            self._write(changed, {**before, _TABLE: left})
            return True

    def _read(self) -> tuple[str, Mapping[str, object]]:
        try:
            data = read_regular(self.path, MAX_CONFIG_BYTES)
        except FileNotFoundError:
            return "", {}
        try:
            content = parse(data)
        except (JsonError, RecursionError) as error:
            raise ServerNotWritten(f"{self.path} cannot be read ({error}): fix it first") from None
        if not isinstance(content, dict) or not isinstance(content.get(_TABLE, {}), dict):
            raise ServerNotWritten(f"{self.path} must be an object, and its `{_TABLE}` too: fix it first")
        return data.decode("utf-8-sig"), content

    def _write(self, text: str, meant: Mapping[str, object]) -> None:
        if parse(text.encode()) != meant:
            raise ServerNotWritten(f"{self.path} is written in a way that North cannot change: change it yourself")
        mode = self.path.stat().st_mode & 0o777
        write_atomic(self.path.resolve(), text.encode(), mode)  # a link, into a folder of dotfiles, stays one


def _servers(content: Mapping[str, object]) -> Mapping[str, object]:
    found = content.get(_TABLE)
    return found if isinstance(found, dict) else {}
