"""The thoughts in an answer's record, which stay as their vendor has signed them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from north_lsp.storage.entries import Record


def thoughts_apart(record: Record) -> tuple[dict[int, Any], Record]:
    """Take the thoughts out of a record; returns them by their place, and the rest."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(content, list):
        return {}, record
    thoughts = {at: one for at, one in enumerate(content) if isinstance(one, dict) and one.get("type") == "thinking"}
    if not thoughts:
        return {}, record
    rest = [None if at in thoughts else one for at, one in enumerate(content)]
    return thoughts, {**record, "message": {**message, "content": rest}}


def with_thoughts(record: Record, thoughts: Mapping[int, Any]) -> Record:
    """Put them back."""
    if not thoughts:
        return record
    message = record["message"]
    content = [thoughts.get(at, one) for at, one in enumerate(message["content"])]
    return {**record, "message": {**message, "content": content}}
