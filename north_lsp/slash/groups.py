"""The groups in which commands are shown, by what they are about; within one, what is used most comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from north_lsp.slash.base import Command

GROUPS = {
    "Conversations": (
        "new", "continue", "resume", "conversations", "rename", "archive", "delete", "restore", "handoff", "move",
        "salvage", "quit",
    ),
    "Changes": ("undo", "redo", "diff", "checkpoint", "checkpoints"),
    "Going back": ("rewind", "branch", "fork", "tree", "label"),
    "What is running": ("cancel", "queue", "jobs", "tasks", "terminal"),
    "Permissions": ("permissions", "autoaccept", "trust"),
    "Models and keys": ("model", "thinking", "costs", "login", "logout", "provider"),
    "Modes, plans and goals": ("mode", "plan", "todo", "goal", "work"),
    "What the model knows": ("context", "compact", "summarize", "rules", "memory", "learn"),
    "Agents, skills and servers": ("agents", "skills", "skill", "mcp", "extensions"),
    "Passing on": ("export", "share", "dump", "stats"),
    "North itself": ("help", "config", "reload", "doctor", "storage", "log"),
}  # fmt: skip
OTHERS = "Your own, the project's and those of MCP servers"


def grouped(commands: Iterable[Command]) -> Sequence[tuple[str, Sequence[Command]]]:
    """Return the groups that have any of the commands, with those; what is in none is in the last one."""
    left = {command.name: command for command in commands}
    groups = [(title, [left.pop(name) for name in names if name in left]) for title, names in GROUPS.items()]
    return [(title, members) for title, members in (*groups, (OTHERS, list(left.values()))) if members]
