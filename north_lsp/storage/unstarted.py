"""Conversations that were opened and never prompted: what was chosen in them, so that another process goes on there.
They are no conversations yet, so no list has them, and the oldest are forgotten."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.files import json_bytes, private_directory, read_json, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.relaxed_json import JsonError

_MOST = 100
_MAX_BYTES = 100_000
_KEPT = frozenset({"mode_change", "model_change", "thinking_level_change", "service_tier_change"})
_OWN = frozenset({"type", "id", "parentId", "timestamp"})


class Unstarted:
    """Those of all projects, a file each."""

    def __init__(self, locations: Locations) -> None:
        self._folder = locations.state / "unstarted"

    def keep(self, header: Mapping[str, Any], entries: list[dict[str, Any]]) -> None:
        """Raises OSError."""
        rows = [
            [entry["type"], {name: value for name, value in entry.items() if name not in _OWN}]
            for entry in entries
            if entry["type"] in _KEPT
        ]
        folder = private_directory(self._folder)
        write_atomic(folder / f"{header['id']}.json", json_bytes({"header": dict(header), "entries": rows}))
        for path in self._by_age()[_MOST:]:
            path.unlink(missing_ok=True)

    def find(self, id: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]] | None:
        """The header and the choices, types with what they say; None if there is none that makes sense."""
        if not valid_conversation_id(id):
            return None
        try:
            found = read_json(self._folder / f"{id}.json", _MAX_BYTES)
            if not isinstance(found, dict) or found["header"]["id"] != id:
                return None
            rows = [(str(type), dict(fields)) for type, fields in found["entries"] if type in _KEPT]
            return dict(found["header"]), rows
        except (OSError, JsonError, KeyError, TypeError, ValueError):
            return None

    def forget(self, id: str) -> None:
        """It has been prompted, or deleted."""
        if valid_conversation_id(id):
            with suppress(OSError):
                (self._folder / f"{id}.json").unlink(missing_ok=True)

    def _by_age(self) -> list[Path]:
        """The newest first."""
        found: list[tuple[float, Path]] = []
        for path in self._folder.glob("*.json"):
            with suppress(OSError):
                found.append((path.stat().st_mtime, path))
        return [path for _, path in sorted(found, reverse=True)]
