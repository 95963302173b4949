"""The todo list as rows of a log."""

from __future__ import annotations

from typing import Any

from north_lsp.agent.log.fields import as_list
from north_lsp.tools.todo_list import STATUSES, Phase, Task, TodoList


def todo_to_json(todo: TodoList) -> list[dict[str, Any]]:
    return [
        {"name": phase.name, "tasks": [{"content": task.content, "status": task.status} for task in phase.tasks]}
        for phase in todo.phases
    ]


def todo_from_json(stored: object) -> TodoList:
    """Read a stored list; what makes no sense is left out."""
    phases: list[Phase] = []
    for row in as_list(stored):
        match row:
            case {"name": str(name), "tasks": list(tasks)}:
                phases.append(Phase(name, tuple(task for one in tasks if (task := _task(one)) is not None)))
    return TodoList(tuple(phases))


def _task(row: object) -> Task | None:
    match row:
        case {"content": str(content), "status": str(status)}:
            return Task(content, next((one for one in STATUSES if one == status), "pending"))
        case _:
            return None
