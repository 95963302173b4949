"""Logs made of lines as North writes them, for tests of how their beginning is read."""

from typing import Any

from hypothesis import strategies as st

from north_lsp.storage.log_state import read_state
from north_lsp.storage.records import encode

TIME = "2026-01-02T03:04:05.678Z"
HEADER = {"type": "conversation_started", "version": 4, "id": "a1b2c3", "timestamp": TIME, "repoHash": "0" * 16}
KINDS = ("entry", "update", "title", "roots", "move", "branch", "folder")
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 30)), max_size=25)
"""What is done one after the other in a conversation, each with a number to choose by."""


def entry(number: int, parent: int | None, type: str = "review", **fields: Any) -> dict[str, Any]:
    place = {"parentId": None if parent is None else f"{parent:08x}"}
    return {"type": type, "id": f"{number:08x}", **place, "timestamp": TIME, **fields}


def note(number: int, type: str, **fields: Any) -> dict[str, Any]:
    return {"type": type, "id": f"{number:08x}", "timestamp": TIME, **fields}


def update(number: int, target: int, status: str = "accept") -> dict[str, Any]:
    return note(number, "entry_updated", targetId=f"{target:08x}", patch={"status": status})


def log(*lines: dict[str, Any]) -> bytes:
    return b"".join(map(encode, [HEADER, *lines]))


def path(data: bytes) -> list[dict[str, Any]]:
    return read_state(data).active_path()


def lines_of(steps: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return the lines that these steps leave: each entry follows the leaf, which may have been moved before."""
    lines: list[dict[str, Any]] = []
    entries: list[int] = []
    leaf: int | None = None
    for number, (kind, choice) in enumerate(steps, 1):
        chosen = entries[choice % len(entries)] if entries else None
        if kind in ("entry", "branch"):
            leaf = leaf if kind == "entry" else chosen
            lines.append(entry(number, leaf))
            entries.append(number)
            leaf = number
        elif kind == "folder":
            lines.append(note(number, "session_moved", repoHash=f"{choice:016x}", repoRoot="/r", cwd="/r"))
        elif kind == "roots":
            lines.append(note(number, "roots_changed", roots=[f"/r{choice}"]))
        elif kind == "title" or chosen is None:
            lines.append(note(number, "title_changed", title=str(number)))
        elif kind == "update":
            lines.append(update(number, chosen, str(number)))
        else:
            leaf = chosen if choice % 3 else None
            lines.append(note(number, "leaf_moved", leafId=None if leaf is None else f"{leaf:08x}"))
    return lines


def does_more_than_go_on(steps: list[tuple[str, int]]) -> bool:
    """Tell whether the steps go back, branch, or move the conversation."""
    return bool({"move", "branch", "folder"} & {kind for kind, _ in steps})
