"""The agents of a call as the draft's child sessions (`subagent_update`), for clients that announced them. A child is
announced before its state is told; it takes no prompts of the client's, and has no updates of its own."""

from __future__ import annotations

from typing import Any

from north_lsp.agent.ports.events import TaskRow, TasksChanged
from north_lsp.display import visible
from north_lsp.rpc.messages import INTERNAL_ERROR

Update = dict[str, Any]
_STOP_REASONS = {
    "done": "end_turn",
    "unstructured": "end_turn",
    "invalid": "end_turn",
    "cancelled": "cancelled",
    "limit": "max_turn_requests",
}
_PROBLEMS = {"failed": "the agent failed", "timed_out": "the agent took too long"}


class Children:
    """Which child sessions the client of a session has been told of, and what."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._told: dict[str, str] = {}

    def updates(self, event: TasksChanged) -> list[Update]:
        """Return the updates that tell what has changed since the last ones."""
        found = []
        for row in event.tasks:
            before = self._told.get(row.id)
            if before != row.state:
                self._told[row.id] = row.state
                found.append({**self._named(row, is_new=before is None), **_state(row)})
        return found

    def _named(self, row: TaskRow, *, is_new: bool) -> Update:
        named: Update = {"sessionUpdate": "subagent_update", "sessionId": f"{self._session_id}/{row.id}"}
        if is_new:
            named |= {"title": visible(f"{row.agent} {row.id}")}
            named |= {"description": visible(row.description)} if row.description else {}
        return named


def _state(row: TaskRow) -> Update:
    match row.state:
        case "queued":
            return {}
        case "running":
            return {"state": {"state": "running"}}
        case "failed" | "timed_out" as state:
            error = {"code": INTERNAL_ERROR, "message": _PROBLEMS[state]}
            return {"state": {"state": "idle", "stopReason": "error", "error": error}}
        case state:
            return {"state": {"state": "idle", "stopReason": _STOP_REASONS.get(state, "end_turn")}}
