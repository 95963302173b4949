"""What a model is told of plan mode and of the plan with a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.log.choices import ModeEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import News, PromptEntry
from north_lsp.agent.log.plans import ABOUT_PLAN, last_plan, told_digest
from north_lsp.agent.planning.plan_place import read_plan
from north_lsp.agent.planning.plan_text import difference, digest_of
from north_lsp.agent.prompts import render
from north_lsp.vocabulary import Mode

_ABOUT_MODE = "mode"
_ENDED = "[North] Plan mode has ended: you may change files and run commands again, each after its review."


def plan_news(log: Log, mode: Mode) -> list[News]:
    """Return what goes with a prompt in a mode: that the mode is another one, the plan that was approved, and what the
    user has changed in the plan since. Blocks: it reads the plan."""
    path = log.path()
    plan, text = last_plan(path), read_plan(log)
    news: list[News] = []
    plans, was_left = _told_of_plan_mode(path)
    if mode == "plan" and (not plans or was_left):
        news.append(News(render("plan_mode", plan=text or ""), _ABOUT_MODE))
    elif mode != "plan" and plans:
        news.append(News(_ENDED, _ABOUT_MODE))
    if plan is None or text is None:
        return news
    told = told_digest(path)
    if plan.approved and told is None:
        news.append(News(f"The plan that the user approved:\n\n{plan.text}", f"{ABOUT_PLAN}{digest_of(plan.text)}"))
        told = digest_of(plan.text)
    now = digest_of(text)
    if now != (told or digest_of(plan.text)):
        which = "after it was approved" if plan.approved else "since you wrote it"
        changes = difference(plan.text, text)
        reminder = f"<system-reminder>\nThe user edited the plan {which}:\n\n{changes}\n</system-reminder>"
        news.append(News(reminder, f"{ABOUT_PLAN}{now}"))
    return news


def _told_of_plan_mode(path: Sequence[Logged]) -> tuple[bool, bool]:
    """Tell whether the last thing that the model was told of a mode is that it plans, and whether the user has left
    plan mode since."""
    was_left = False
    for one in reversed(path):
        was_left = was_left or (isinstance(one.entry, ModeEntry) and one.entry.mode != "plan")
        if isinstance(one.entry, PromptEntry) and not one.entry.excluded:
            told = [part for part in one.entry.parts if isinstance(part, News) and part.about == _ABOUT_MODE]
            if told:
                return told[-1].text != _ENDED, was_left
    return False, False
