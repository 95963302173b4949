"""Masks the texts of a record: what was said and done, but never the fields that hold the log together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_FRAMING = frozenset(
    {
        "type", "id", "parentId", "timestamp", "targetId", "leafId", "role", "status", "kind", "mode", "action",
        "stopReason", "provider", "model", "api", "attribution", "toolCallId", "toolName", "customType", "fromQueue",
        "firstKeptEntryId", "ids", "undoes", "checkpointId", "reviewId", "retryId", "outcome", "thinkingLevel",
        "serviceTier", "titleSource", "purpose", "mimeType", "signature", "redacted", "hunks",
    }
)  # fmt: skip
"""Fields that hold the log together, wherever they are but in what a call was given."""
_FRAMING_OF = {
    "tool_call": frozenset({"name"}),
    "image": frozenset({"data"}),
    "model_change": frozenset({"reason"}),
    "leaf_moved": frozenset({"reason"}),
    "compaction": frozenset({"reason"}),
    "conversation_ended": frozenset({"reason"}),
    "mcp_tool_selection": frozenset({"selectedToolNames", "tools"}),
}
_HASHES = frozenset({"before", "after"})
_WHOLE = frozenset({"session_moved", "roots_changed", "archived"})
"""Lines that have nothing else."""
_FREE = frozenset({"arguments"})
_SEEN, _PIECE, _CHANGES = "seen", "piece", "checkpoint"


def with_texts(record: Any, change: Callable[[str], str]) -> Any:
    """Return a record with its texts changed, but for keys and the fields that hold the log together; the same object
    if nothing changes."""
    if isinstance(record, Mapping):
        if record.get("type") in _WHOLE:
            return record
        if isinstance(piece := record.get(_PIECE), list) and len(piece) == 3:  # of an answer that is still arriving
            what, place, value = piece
            new = _free(value, change) if what in _FREE else _changed(value, change, _FRAMING)
            return record if new is value else {**record, _PIECE: [what, place, new]}
        if record.get("type") == _CHANGES:
            return _changed(record, change, _FRAMING | _HASHES)
    return _changed(record, change, _FRAMING)


def _changed(value: Any, change: Callable[[str], str], framing: frozenset[str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        kept = framing | _FRAMING_OF.get(kind, frozenset()) if isinstance(kind := value.get("type"), str) else framing
        new = {}
        for key, one in value.items():
            if key in kept:
                new[key] = one
            elif key in _FREE:
                new[key] = _free(one, change)
            elif key == _SEEN and isinstance(one, list):
                new[key] = _same(one, [_sighting(row, change) for row in one])
            else:
                new[key] = _changed(one, change, framing)
        return value if all(new[key] is one for key, one in value.items()) else new
    if isinstance(value, list):
        return _same(value, [_changed(one, change, framing) for one in value])
    return value


def _free(value: Any, change: Callable[[str], str]) -> Any:
    """Change what a call was given: each text but keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        new = {key: _free(one, change) for key, one in value.items()}
        return value if all(new[key] is one for key, one in value.items()) else new
    if isinstance(value, list):
        return _same(value, [_free(one, change) for one in value])
    return value


def _sighting(row: Any, change: Callable[[str], str]) -> Any:
    """Change the path in a row of what was seen of a file, not the tag of its text."""
    if not isinstance(row, list) or not row or not isinstance(row[0], str):
        return row
    path = change(row[0])
    return row if path == row[0] else [path, *row[1:]]


def _same(before: list[Any], now: list[Any]) -> list[Any]:
    return before if all(one is other for one, other in zip(before, now, strict=True)) else now
