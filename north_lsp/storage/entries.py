"""The vocabulary of a conversation's log: ids, times, and the types of its lines."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from north_lsp.lazy_pattern import lazy_pattern

VERSION = 4
HEADER = "conversation_started"

Record = dict[str, Any]
"""A line of the log. The payloads are foreign data: code that reads one must check it first."""

TREE_TYPES = frozenset(
    {
        "message",
        "model_change",
        "thinking_level_change",
        "service_tier_change",
        "mode_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "ttsr_injection",
        "mcp_tool_selection",
        "session_init",
        "review",
        "command_executed",
        "checkpoint",
    }
)
ANNOTATION_TYPES = frozenset(
    {
        "entry_updated",
        "label",
        "leaf_moved",
        "queue_changed",
        "title_changed",
        "usage_recorded",
        "session_moved",
        "roots_changed",
        "archived",
        "conversation_ended",
        "secret_index",
    }
)
_USER_ROLES = frozenset({"user", "bashExecution", "pythonExecution"})
_ID = lazy_pattern(r"[0-9a-zA-Z_-]{1,64}")
_CONVERSATION_TRIES = 20


def timestamp(now: datetime | None = None) -> str:
    """Format a moment (with a time zone; default now) as `2025-12-10T10:20:30.000Z`."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def new_entry_id(taken: Container[str]) -> str:
    """Make an id of 8 hexadecimal characters that is not taken."""
    while (id := os.urandom(4).hex()) in taken:
        pass
    return id


def new_conversation_id(exists: Callable[[str], bool]) -> str:
    """Make an id of 6 hexadecimal characters that is free, or of 8 after too many tries."""
    for _ in range(_CONVERSATION_TRIES):
        if not exists(id := os.urandom(3).hex()):
            return id
    while exists(id := os.urandom(4).hex()):
        pass
    return id


def free_conversation_id(folder: Path) -> str:
    """Make an id that nothing in the folder of all conversations has."""
    return new_conversation_id(lambda id: (folder / f"{id}.jsonl").exists() or (folder / id).exists())


def valid_conversation_id(id: str) -> bool:
    """Tell whether a string can be a conversation's id, and so a part of file names."""
    return _ID.fullmatch(id) is not None and id.casefold() != "trash"  # the folder of deleted conversations


def is_from_user(type: str, payload: Mapping[str, Any]) -> bool:
    """Tell whether an entry is something that the user said or ran; the first such entry creates the file."""
    message = payload.get("message")
    return type == "message" and isinstance(message, Mapping) and message.get("role") in _USER_ROLES


def now_ms() -> int:
    """Return the time as entries have it: milliseconds since 1970 (UTC)."""
    return round(time.time() * 1000)
