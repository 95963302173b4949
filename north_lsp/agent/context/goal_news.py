"""What a model must be told of the goal: that the user has changed it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.context.telling import context_block
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.messages import News, PromptEntry

ABOUT_GOAL = "goal"


def concerns_goal(one: Logged) -> bool:
    """Tell whether an entry changed the goal, or told the model of it."""
    match one.entry:
        case GoalEntry():
            return True
        case PromptEntry(excluded=False) as prompt:
            return any(isinstance(part, News) and part.about == ABOUT_GOAL for part in prompt.parts)
        case _:
            return False


def news_of_goal(concerning: Sequence[Logged]) -> list[News]:
    """Return what the user has made of the goal, unless the model knows."""
    last = concerning[-1].entry if concerning else None
    if not isinstance(last, GoalEntry) or not last.by_user:
        return []
    goal = last.goal
    text = f"it is now:\n\n{goal.document(None)}" if goal is not None else "there is none any more."
    return [News(context_block(f"The user changed the goal of this conversation; {text}"), ABOUT_GOAL)]
