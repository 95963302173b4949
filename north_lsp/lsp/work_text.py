"""The goal and the workflow in a chat document: a few words for lenses, and Markdown on hover. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from north_lsp.agent.ports.work import CriterionView, GoalView, WorkDecision, WorkflowView, WorkView
from north_lsp.display import one_line, visible

_MARKS = {"open": "[ ]", "met": "[x]", "stale": "[~]", "failed": "[!]"}
_STATES = {"open": "open", "met": "met", "stale": "was met; files have changed since", "failed": "failed"}
_LONGEST = 60


def words(work: WorkView) -> Iterator[tuple[str, str]]:
    """Yield what is to be known at a glance, each with the slash command that shows all of it."""
    if work.workflow is not None:
        held = ", changes are held" if work.workflow.held and not work.workflow.spent else ""
        yield f"Workflow {work.workflow.name}: {work.workflow.phase}{held}", "/work"
    if work.goal is not None:
        yield f"Goal: {one_line(work.goal.statement, _LONGEST)} ({_counted(work.goal)})", "/goal"


def choices(decisions: Iterable[WorkDecision]) -> Iterator[tuple[str, str]]:
    """Yield what the user can decide, each with the prompt that does it."""
    for one in decisions:
        consequence = f": {one.consequence[0].lower()}{one.consequence[1:].rstrip('.')}" if one.consequence else ""
        yield f"{one.title}{consequence}", one.prompt


def markdown(work: WorkView) -> str:
    """Return all of it; empty where there is neither."""
    parts = [_goal(work.goal)] if work.goal is not None else []
    parts += [_workflow(work.workflow)] if work.workflow is not None else []
    return visible("\n\n".join(parts))


def _counted(goal: GoalView) -> str:
    states = [one.state for one in goal.criteria]
    stale = f", {states.count('stale')} stale" if "stale" in states else ""
    status = f", {goal.status}" if goal.status != "active" else ""
    return f"{states.count('met')} of {len(states)} met{stale}{status}"


def _goal(goal: GoalView) -> str:
    head = f"**Goal:** {one_line(goal.statement, 500)} ({_counted(goal)})"
    blocked = f"\n\nBlocked: {goal.blocked}" if goal.blocked else ""
    return "\n".join([head + blocked, "", *map(_criterion, goal.criteria)])


def _criterion(one: CriterionView) -> str:
    command = f" `{one.command}`" if one.command else ""
    evidence = f" ({one_line(one.evidence, 200)})" if one.evidence else ""
    return f"- {_MARKS[one.state]} {one.id}: {one.text}{command}: {_STATES[one.state]}{evidence}"


def _workflow(workflow: WorkflowView) -> str:
    shown = {"now": "**{}**", "done": "✓ {}", "ahead": "{}"}
    phases = " → ".join(shown[one.state].format(one.name) for one in workflow.phases)
    head = f"**Workflow:** {workflow.name} ({workflow.folder})" if workflow.folder else f"**Skill:** {workflow.name}"
    lines = [head, "", phases]
    lines += ["", workflow.note] if workflow.note else []
    lines += ["", f"Held: {workflow.held}"] if workflow.held else []
    limits = (("read-only calls", workflow.calls_left), ("rounds of questions", workflow.rounds_left))
    lines += [f"Left: {left} {what}" for what, left in limits if left is not None]
    return "\n".join(lines)
