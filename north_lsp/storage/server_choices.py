"""What the user has decided about the MCP servers of one project: which are switched off, and which servers of the
project's own may be started, as they were written then. Kept with the user's own data, never in the project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from north_lsp.storage.files import MAX_CONFIG_BYTES, json_bytes, private_directory, read_json, short_lock, write_atomic
from north_lsp.storage.locations import Locations

Content = dict[str, Any]


class ServerChoices:
    """What was decided in one project, read again each time. Its methods read and write files: call them on a
    thread."""

    def __init__(self, locations: Locations, project_hash: str) -> None:
        self._locations = locations
        self._lock_name = f"mcp-{project_hash}"
        self._path = locations.project(project_hash) / "mcp.json"

    def switched(self) -> Mapping[str, bool]:
        """Return the servers that the user has switched off or on here, by name."""
        rows = self._read().get("switched")
        return {name: on for name, on in rows.items() if isinstance(on, bool)} if isinstance(rows, dict) else {}

    def switch(self, name: str, *, on: bool) -> None:
        """Switch a server off or on. Raises OSError."""
        self._change(lambda content: content.update(switched={**self.switched(), name: on}))

    def is_looked_at(self) -> bool:
        """Tell whether the project's servers have been looked at since the user trusted it: who comes later is asked
        about. A file that cannot be read counts as a look, at nothing."""
        return "started" in self._read()

    def started(self) -> Mapping[str, str]:
        """Return the project's servers that may be started, with what they were when the user agreed."""
        rows = self._read().get("started")
        return {name: text for name, text in rows.items() if isinstance(text, str)} if isinstance(rows, dict) else {}

    def note_started(self, servers: Mapping[str, str]) -> None:
        """Note that servers may be started as they are written now. Raises OSError."""
        self._change(lambda content: content.update(started={**self.started(), **servers}))

    def _read(self) -> Content:
        try:
            content = read_json(self._path, MAX_CONFIG_BYTES)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            return {"started": {}}
        return content if isinstance(content, dict) else {"started": {}}

    def _change(self, change: Callable[[Content], None]) -> None:
        with short_lock(self._locations, self._lock_name):
            content = {"version": 1, **self._read()}
            change(content)
            private_directory(self._path.parent)
            write_atomic(self._path, json_bytes(content), 0o600)
