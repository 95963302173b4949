"""What a call of `task` asks for, checked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.arguments import Arguments, checked

MOST_TASKS = 16
_UNSAFE = lazy_pattern(r"[^A-Za-z0-9_-]+")
_LONGEST_ID = 32


class TaskRequest(Arguments):
    """One task. `output_schema` is the schema that its result has to fit."""

    id: str = ""
    agent: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    description: str = ""
    output_schema: dict[str, Any] | None = Field(None, alias="schema")
    skills: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    isolation: str | None = None
    background: bool = False


class _Tasks(Arguments):
    tasks: tuple[TaskRequest, ...] = Field(min_length=1, max_length=MOST_TASKS)


def task_requests(args: Mapping[str, Any]) -> tuple[TaskRequest, ...]:
    """Read the tasks of a call; a single one may be given flat. Raises ToolError."""
    given = args if "tasks" in args or "agent" not in args else {"tasks": [args]}
    tasks = checked(_Tasks, given).tasks
    for task in tasks:
        if task.isolation not in (None, "none", "worktree"):
            raise ToolError("INVALID_INPUT", f"isolation is none or worktree, not {task.isolation[:40]!r}")
    names: dict[str, int] = {}
    named: list[TaskRequest] = []
    for task in tasks:
        name = _UNSAFE.sub("-", task.id or task.agent).strip("-")[:_LONGEST_ID] or "task"
        count = names[name] = names.get(name, 0) + 1
        unique = name if count == 1 else f"{name}-{count}"
        while count > 1 and unique in names:
            count += 1
            unique = f"{name}-{count}"
        names.setdefault(unique, 1)
        named.append(task.model_copy(update={"id": unique}))
    return tuple(named)
