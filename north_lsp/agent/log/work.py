"""What of a log concerns the goal and the workflow. Pure."""

from __future__ import annotations

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.workflows import SkillStateEntry


def concerns_work(one: Logged) -> bool:
    """Tell whether an entry changed the goal or the workflow. Without one there is neither."""
    return isinstance(one.entry, GoalEntry | SkillStateEntry)
