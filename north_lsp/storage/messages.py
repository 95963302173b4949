"""Repairs messages so that code may rely on them, whoever wrote the log: content is a list of parts with their fields.

The file is left as it is; what is wrong in it is repaired in memory only.
"""

from __future__ import annotations

import json
from typing import Any

from north_lsp.storage.entries import Record

_NEEDED = {
    "text": ("text",),
    "context": ("text",),
    "thinking": ("thinking",),
    "tool_call": ("id", "name"),
    "file_mention": ("path", "preview"),
}
_OPTIONAL = {"thinking": ("signature", "redacted"), "tool_call": ("problem",)}
_FIELDS: dict[str, type] = {"role": str, "details": dict, "usage": dict}


def repaired(record: Record) -> Record:
    """Return a line of type `message` with its message repaired, so that it can be read."""
    message = record.get("message")
    if not isinstance(message, dict):
        return record | {"message": {}}  # it keeps its place in the tree
    content = message.get("content")
    if isinstance(content, list) and all(map(_is_sound, content)) and _has_sound_fields(message):
        return record
    parts = content if isinstance(content, list) else [] if content is None else [content]
    fixed: Record = message | {"content": [_part(part) for part in parts]}
    for name, kind in _FIELDS.items():
        if name in fixed and not isinstance(fixed[name], kind):
            del fixed[name]
    if "usage" in fixed:
        fixed["usage"] = _numbers(fixed["usage"])
    return record | {"message": fixed}


def _is_sound(part: object) -> bool:
    if not isinstance(part, dict) or not isinstance(kind := part.get("type"), str):
        return False
    return all(isinstance(part.get(name), str) for name in _NEEDED.get(kind, ())) and all(
        isinstance(part.get(name), str | None) for name in _OPTIONAL.get(kind, ())
    )


def _has_sound_fields(message: Record) -> bool:
    if not all(isinstance(message.get(name, kind()), kind) for name, kind in _FIELDS.items()):
        return False
    usage = message.get("usage", {})
    return bool(usage == _numbers(usage))


def _part(part: object) -> Record:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if not isinstance(part, dict) or not isinstance(kind := part.get("type"), str):
        return {"type": "text", "text": json.dumps(part, ensure_ascii=False)}
    needed = {name: _string(part.get(name)) for name in _NEEDED.get(kind, ())}
    optional = {name: None for name in _OPTIONAL.get(kind, ()) if not isinstance(part.get(name), str | None)}
    return part | needed | optional


def _string(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _numbers(usage: Record) -> Record:
    """Keep the numbers of a usage; anything else counts as nothing."""
    kept: dict[str, Any] = {}
    for name, value in usage.items():
        if name == "cost":
            kept[name] = _numbers(value) if isinstance(value, dict) else {}
        elif isinstance(value, bool | int | float):
            kept[name] = value
    return kept
