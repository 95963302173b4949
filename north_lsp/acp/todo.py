"""The todo list as ACP's plan. Pure."""

from __future__ import annotations

from typing import Any

from north_lsp.acp.initialize import Client
from north_lsp.display import visible
from north_lsp.tools.todo_list import Phase, TodoList


def plan_update(todo: TodoList, client: Client) -> dict[str, Any]:
    """Return the update that shows the whole list. Plans have neither phases nor tasks that were given up: North's own
    clients get them beside it, with after how many seconds they hide what is closed (never, if that is negative)."""
    entries = [
        {"content": visible(task.content), "priority": priority, "status": task.status}
        for phase, priority in _priorities(todo)
        for task in phase.tasks
        if task.status != "abandoned"
    ]
    update: dict[str, Any] = {"sessionUpdate": "plan", "entries": entries}
    if client.updates_plans:
        update = {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "todo", "entries": entries}}
    if not client.knows_north:
        return update
    return update | {"_meta": {"north": {"phases": phase_rows(todo), "clearAfterSeconds": client.clears_todo_s}}}


def phase_rows(todo: TodoList) -> list[dict[str, Any]]:
    """Return the phases with all of their tasks."""
    return [
        {
            "name": visible(phase.name),
            "tasks": [{"content": visible(task.content), "status": task.status} for task in phase.tasks],
        }
        for phase in todo.phases
    ]


def _priorities(todo: TodoList) -> list[tuple[Phase, str]]:
    """Return the phases with how soon they are worked on: the current one, the one after it, others."""
    names = [phase.name for phase in todo.phases]
    at = names.index(todo.current.name) if todo.current is not None else len(names)
    levels = {at: "high", at + 1: "medium"}
    return [(phase, levels.get(index, "low")) for index, phase in enumerate(todo.phases)]
