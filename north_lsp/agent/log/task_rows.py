"""The tasks of a call, as its result has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from north_lsp.agent.log.fields import as_list, as_object, as_text
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.ports.events import Event, TaskRow, TasksChanged

_KEY = "tasks"


def task_details(rows: Sequence[TaskRow]) -> dict[str, object]:
    """Return the details of a result that says how tasks ended."""
    return {_KEY: [_to_json(row) for row in rows]}


def _to_json(row: TaskRow) -> dict[str, object]:
    named = {"id": row.id, "agent": row.agent, "description": row.description, "state": row.state}
    return {**named, "tokens": row.tokens, "costUsd": row.cost_usd}


def task_rows(details: Mapping[str, object]) -> tuple[TaskRow, ...]:
    """Read the tasks from a result's details; none if it has none."""
    found = [as_object(row) for row in as_list(details.get(_KEY))]
    return tuple(_row(row) for row in found if as_text(row.get("id")))


def _row(row: Mapping[str, object]) -> TaskRow:
    tokens, cost = row.get("tokens"), row.get("costUsd")
    id, agent, description, state = (as_text(row.get(key)) for key in ("id", "agent", "description", "state"))
    used = tokens if isinstance(tokens, int) else 0
    return TaskRow(id, agent, description, state, "", used, cost if isinstance(cost, float) else 0.0)


def tasks_shown(result: ResultEntry) -> Iterator[Event]:
    """Show how the tasks of a call ended."""
    if result.tool == "task" and (rows := task_rows(result.details.of_tool)):
        yield TasksChanged(result.call_id, rows, is_over=True)


def numbers_of(id: str) -> list[int]:
    """Return the numbers in a task's id (`0-find.2-read`), which say in which order tasks were begun."""
    numbers = (part.partition("-")[0] for part in id.split("."))
    return [int(number) if number.isdecimal() else 0 for number in numbers]
