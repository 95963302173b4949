"""The plan in the log: what the model knows of the document, and what of it was approved. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.log.choices import PlanEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import News, PromptEntry

ABOUT_PLAN = "plan:"


def last_plan(path: Sequence[Logged]) -> PlanEntry | None:
    """Return the plan as the model wrote it, or as it was approved, whichever came last."""
    return next((one.entry for one in reversed(path) if isinstance(one.entry, PlanEntry)), None)


def told_digest(path: Sequence[Logged]) -> str | None:
    """Return the digest of the plan's text that was last told to the model in a prompt, after `last_plan`."""
    for one in reversed(path):
        match one.entry:
            case PlanEntry():
                return None
            case PromptEntry(excluded=False) as prompt:
                told = [part for part in prompt.parts if isinstance(part, News) and part.about.startswith(ABOUT_PLAN)]
                if told:
                    return told[-1].about.removeprefix(ABOUT_PLAN)
            case _:
                pass
    return None
