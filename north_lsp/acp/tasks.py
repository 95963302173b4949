"""How far the agents of a call are, as an update of that call: a text for every client, and rows for those that show
them."""

from __future__ import annotations

from typing import Any

from north_lsp.agent.ports.events import TaskRow, TasksChanged
from north_lsp.agent.subagents.progress import in_words
from north_lsp.display import visible


def task_row(row: TaskRow) -> dict[str, Any]:
    """Return one task as clients get it."""
    told = {"id": row.id, "agent": visible(row.agent), "state": row.state, "tokens": row.tokens}
    told |= {"description": visible(row.description)} if row.description else {}
    told |= {"action": visible(row.action)} if row.action else {}
    return told | ({"costUsd": row.cost_usd} if row.cost_usd else {})


def tasks_update(event: TasksChanged) -> dict[str, Any]:
    """Return the update of the call. When it is over, its result says the rest."""
    update: dict[str, Any] = {"sessionUpdate": "tool_call_update", "toolCallId": event.call_id}
    if not event.is_over:
        text = {"type": "text", "text": visible(in_words(event.tasks))}
        update |= {"status": "in_progress", "content": [{"type": "content", "content": text}]}
    return update | {"_meta": {"north": {"tasks": [task_row(row) for row in event.tasks]}}}
