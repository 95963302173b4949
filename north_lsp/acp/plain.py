"""What a client gets that does not know North: the same messages without North's own fields. Pure."""

from __future__ import annotations

from typing import Any

_NOT_NORTHS = ("rawInput", "rawOutput")
"""A tool's arguments and results: they may have any keys."""


def without_extension(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without any `_meta.north`."""
    found: dict[str, Any] = {}
    for key, value in message.items():
        if key == "_meta" and isinstance(value, dict):
            others = {name: one for name, one in value.items() if name != "north"}
            found |= {key: others} if others else {}
        elif key in _NOT_NORTHS:
            found[key] = value
        elif isinstance(value, dict):
            found[key] = without_extension(value)
        elif isinstance(value, list):
            found[key] = [without_extension(one) if isinstance(one, dict) else one for one in value]
        else:
            found[key] = value
    return found
