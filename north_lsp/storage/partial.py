"""The answer that is being streamed, saved beside the log now and then so that a crash loses little of it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from north_lsp.storage.entries import Record, timestamp
from north_lsp.storage.files import read_json, write_atomic
from north_lsp.storage.log_state import LogState
from north_lsp.storage.records import storable


def write_partial(path: Path, message: Mapping[str, Any], entry_id: str, parent: str | None) -> None:
    """Raises OSError."""
    partial = {"version": 1, "id": entry_id, "parentId": parent, "timestamp": timestamp(), "message": message}
    write_atomic(path, json.dumps(storable(partial), ensure_ascii=False).encode())


def recover(path: Path, state: LogState) -> Record | None:
    """The partial answer as an entry that ends the conversation, or None if there is none that is still new."""
    try:
        partial = read_json(path)
    except (OSError, ValueError):
        return None
    if not isinstance(partial, dict):
        return None
    id, message = partial.get("id"), partial.get("message")
    if not isinstance(id, str) or id in state.ids or not isinstance(message, dict) or not message.get("content"):
        return None
    if not _still_new(partial, state):
        return None
    written = partial.get("timestamp")
    return storable(
        {
            "type": "message",
            "id": id,
            "parentId": state.leaf,
            "timestamp": written if isinstance(written, str) else timestamp(),
            "message": {**message, "role": "assistant", "stopReason": "aborted"},
        }
    )


def _still_new(partial: Record, state: LogState) -> bool:
    path = state.active_path()
    places = [entry["id"] for entry in path]
    if (parent := partial.get("parentId")) in places:
        # Clocks go backwards, and a change of mode may come in while an answer streams; another message may not.
        return all(entry["type"] != "message" for entry in path[places.index(parent) + 1 :])
    last = state.entries[-1].get("timestamp") if state.entries else None
    return str(partial.get("timestamp") or "") > str(last or "")
