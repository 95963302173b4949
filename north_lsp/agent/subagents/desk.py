"""What one task is done with: its progress, the board that shows it, its slot, and who asked."""

from __future__ import annotations

from dataclasses import field

import anyio

from north_lsp.agent.subagents.agent_editor import Names
from north_lsp.agent.subagents.guards import Asker
from north_lsp.agent.subagents.progress import Board, Progress
from north_lsp.agent.subagents.slots import Slot
from north_lsp.agent.subagents.working_time import WorkingTime
from north_lsp.lazy_dataclass import dataclass


@dataclass
class Desk:
    """Holds the slot and the working time of one task while it runs. `time` is paused while the task waits for an
    answer, and so is the time of the agent that assigned the task."""

    progress: Progress
    board: Board
    slot: Slot
    asker: Asker
    time: WorkingTime = field(default_factory=lambda: WorkingTime(anyio.CancelScope()))

    @property
    def names(self) -> Names:
        return Names(self.progress.id, self.progress.agent)

    def begin(self, limit: anyio.CancelScope) -> None:
        """Count the time of the task from now on."""
        self.time = WorkingTime(limit, self.asker.slot.time if self.asker.slot is not None else None)
        self.slot.time = self.time
