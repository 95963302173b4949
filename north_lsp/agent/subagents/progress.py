"""How far the tasks of a call are, as people see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Literal

from north_lsp.agent.ports.events import Event, TaskRow, TasksChanged
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass

State = Literal["queued", "running", "done", "unstructured", "invalid", "failed", "cancelled", "timed_out", "limit"]
WORDS: dict[str, str] = {
    "queued": "waiting",
    "running": "working",
    "done": "done",
    "unstructured": "done, without a result in its form",
    "invalid": "its result does not fit",
    "failed": "failed",
    "cancelled": "cancelled",
    "timed_out": "took too long",
    "limit": "made too many requests",
}
_SHOWN = 100


@dataclass
class Progress:
    """How far one task is."""

    id: str
    agent: str
    description: str = ""
    state: State = "queued"
    action: str = ""
    tokens: int = 0
    cost_usd: float = 0.0

    @property
    def row(self) -> TaskRow:
        told = (one_line(self.description, _SHOWN), self.state, one_line(self.action, _SHOWN))
        return TaskRow(self.id, self.agent, *told, self.tokens, self.cost_usd)


@dataclass
class Board:
    """The tasks of one call. `is_behind`: they work in the background, and the call is over."""

    call_id: str
    tasks: Sequence[Progress]
    show: Callable[[Event], Awaitable[None]]
    is_behind: bool = False
    _shown: tuple[TaskRow, ...] = field(default=())

    async def changed(self) -> None:
        """Show what has changed."""
        rows = tuple(one.row for one in self.tasks)
        if rows != self._shown:
            self._shown = rows
            await self.show(TasksChanged(self.call_id, rows, is_over=self.is_behind))


def in_words(rows: Sequence[TaskRow]) -> str:
    """Say how far the tasks are, a line each."""
    return "\n".join(_line(row) for row in rows)


def _line(row: TaskRow) -> str:
    told = f": {row.action}" if row.action and row.state == "running" else ""
    tokens = f" ({row.tokens:,} tokens)" if row.tokens else ""
    return f"{row.agent} {row.id}: {WORDS.get(row.state, row.state)}{told}{tokens}"
