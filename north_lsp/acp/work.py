"""The goal and the workflow, as North's own clients get them. Pure."""

from __future__ import annotations

from typing import Any

from north_lsp.agent.ports.work import CriterionView, GoalView, WorkDecision, WorkflowView, WorkView
from north_lsp.display import visible


def work_fields(work: WorkView) -> dict[str, Any]:
    """Return all of it; null where there is none."""
    return {
        "goal": _goal(work.goal) if work.goal is not None else None,
        "workflow": _workflow(work.workflow) if work.workflow is not None else None,
        "decisions": [_decision(one) for one in work.decisions],
    }


def _goal(goal: GoalView) -> dict[str, Any]:
    return {
        "statement": visible(goal.statement),
        "status": goal.status,
        **({"blocked": visible(goal.blocked)} if goal.blocked else {}),
        "criteria": [_criterion(one) for one in goal.criteria],
    }


def _criterion(one: CriterionView) -> dict[str, Any]:
    row: dict[str, Any] = {"id": one.id, "text": visible(one.text), "state": one.state}
    row |= {"command": visible(one.command)} if one.command else {}
    return row | ({"evidence": {"text": visible(one.evidence), "at": one.at}} if one.at else {})


def _workflow(one: WorkflowView) -> dict[str, Any]:
    row: dict[str, Any] = {"name": one.name, "folder": visible(one.folder), "phase": one.phase}
    row["phases"] = [{"name": phase.name, "state": phase.state} for phase in one.phases]
    row |= {"note": visible(one.note)} if one.note else {}
    if not one.held:
        return row
    held: dict[str, Any] = {"why": visible(one.held)}
    held |= {"spent": [visible(command) for command in one.spent]} if one.spent else {}
    held |= {"callsLeft": one.calls_left} if one.calls_left is not None else {}
    held |= {"roundsLeft": one.rounds_left} if one.rounds_left is not None else {}
    return row | {"held": held}


def _decision(one: WorkDecision) -> dict[str, Any]:
    row = {"id": one.id, "title": one.title, "prompt": one.prompt}
    row |= {"criterion": one.criterion} if one.criterion else {}
    return row | ({"consequence": one.consequence} if one.consequence else {})
