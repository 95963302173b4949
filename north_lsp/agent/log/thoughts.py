"""A model's thoughts within a record of the log. A vendor signs them: whoever changes the texts of a record must leave
them as they are."""

from collections.abc import Mapping
from typing import Any

from north_lsp.storage.entries import Record


def without_thoughts(record: Record) -> tuple[dict[int, Any], Record]:
    """Take the thoughts out of an answer; returns them by their place."""
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
    """Put the thoughts back to their places."""
    if not thoughts:
        return record
    message = record["message"]
    content = [thoughts.get(at, one) for at, one in enumerate(message["content"])]
    return {**record, "message": {**message, "content": content}}
