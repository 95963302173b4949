"""Which conversation each editor window had last: `<state>/windows/<hash of its id>.json`. Best effort."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from north_lsp.storage.entries import timestamp
from north_lsp.storage.files import MAX_CONFIG_BYTES, json_bytes, private_directory, read_json, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.noting import note


def remember_last(store: Locations, window: str, root: Path, id: str) -> None:
    """Note the conversation that a window has now. Writes a file; one that cannot be written is not missed."""
    path = _file(store, window)
    if (before := last_of(store, window, root)) not in (None, id):
        note("session_switched", sessionId=id, former=before)
    with suppress(OSError):
        private_directory(path.parent)
        content = {"window": window, "root": str(root), "id": id, "updatedAt": timestamp()}
        write_atomic(path, json_bytes(content))


def last_of(store: Locations, window: str, root: Path) -> str | None:
    """Return the conversation that a window had last in a folder, None if that is not known."""
    try:
        match read_json(_file(store, window), MAX_CONFIG_BYTES):
            case {"root": str(stored), "id": str(id)} if stored == str(root):
                return id
    except (OSError, ValueError):
        pass
    return None


def _file(store: Locations, window: str) -> Path:
    name = sha256(window.encode("utf-8", "replace")).hexdigest()[:32]
    return store.state / "windows" / f"{name}.json"
