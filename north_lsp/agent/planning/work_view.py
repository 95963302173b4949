"""Makes what people are shown of the goal and the workflow, from the log alone: live and loaded it is the same."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace
from typing import TypeGuard

from north_lsp.agent.log.entries import Entry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.work import concerns_work
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.evidence import runs_in
from north_lsp.agent.planning.goal import goal_on
from north_lsp.agent.planning.workflow_course import skill_on, state_on
from north_lsp.agent.planning.workflow_hold import hold_on
from north_lsp.agent.ports.work import (
    CriterionState,
    CriterionView,
    GoalView,
    PhaseState,
    PhaseView,
    WorkDecision,
    WorkflowView,
    WorkView,
)
from north_lsp.tools.goals import Criterion
from north_lsp.tools.workflows import ENDED, WORKFLOWS

_HELD = "edits and commands are refused, except for the workflow's own documents"
_DROPPED = "Its criteria and their evidence are not shown any more."
_LIFTED = "Models may change files again then."


def work_on(log: Log) -> WorkView:
    """Return what is to be shown at the end of the path."""
    goal, workflow = _goal(log), _workflow(log) or _skill(log)
    return WorkView(goal, workflow, tuple(_decisions(goal, workflow)))


def _goal(log: Log) -> GoalView | None:
    goal = goal_on(log)
    if goal is None:
        return None
    state = runs_in(log).state
    return GoalView(goal.statement, goal.status, goal.blocked, tuple(_criterion(one, state) for one in goal.criteria))


def _criterion(one: Criterion, state: str) -> CriterionView:
    last = one.evidence[-1] if one.evidence else None
    text, at = (last.text, last.at) if last is not None else ("", "")
    return CriterionView(one.id, one.text, one.command, _state_of(one, state), text, at)


def _state_of(one: Criterion, state: str) -> CriterionState:
    return "stale" if one.status == "met" and not one.is_fresh(state) else one.status


def _workflow(log: Log) -> WorkflowView | None:
    now = state_on(log)
    if now is None:
        return None
    been = {one.entry.phase for one in log.those(concerns_work) if _is_of(one.entry, now)}
    names = [name for name in WORKFLOWS[now.skill].phases if name not in ENDED or name == now.phase]
    phases = tuple(PhaseView(name, _phase_state(name, now.phase, been)) for name in names)
    view = WorkflowView(now.skill, f".north/work/{now.slug}", now.phase, phases, now.note)
    hold = hold_on(log, None)
    if hold is None:
        return view
    held = _HELD if hold.closes else f"not run again in this phase: {', '.join(sorted(hold.spent))}"
    spent = tuple(sorted(hold.spent))
    left = hold.allowance
    return replace(view, held=held, spent=spent, calls_left=left.calls, rounds_left=left.rounds)


def _skill(log: Log) -> WorkflowView | None:
    """Return the skill that is active, if it has phases: which others it declares only its file says."""
    now = skill_on(log)
    if now is None or not now.phase:
        return None
    return WorkflowView(now.skill, "", now.phase, (PhaseView(now.phase, "now"),), now.note)


def _is_of(entry: Entry, now: SkillStateEntry) -> TypeGuard[SkillStateEntry]:
    return isinstance(entry, SkillStateEntry) and (entry.skill, entry.slug) == (now.skill, now.slug)


def _phase_state(name: str, now: str, been: Container[str]) -> PhaseState:
    if name == now:
        return "now"
    return "done" if name in been else "ahead"


def _decisions(goal: GoalView | None, workflow: WorkflowView | None) -> Iterator[WorkDecision]:
    """Return what the user can decide, the most likely first. Each is a slash command, so that every client has it."""
    is_skill = workflow is not None and not workflow.folder
    if (workflow is not None and not is_skill) or (goal is not None and goal.status != "complete"):
        yield WorkDecision("continue", "Continue", "/work continue")
    for one in goal.criteria if goal is not None else ():
        if not one.command and one.state != "met":
            yield WorkDecision("confirm", f"Confirm {one.id}", f"/goal confirm {one.id}", one.id)
    if is_skill:
        yield WorkDecision("stop", "End the skill", "/skill stop")
    elif workflow is not None:
        is_lifted = workflow.phase in WORKFLOWS[workflow.name].held
        yield WorkDecision("stop", "End the workflow", "/work stop", consequence=_LIFTED if is_lifted else "")
    if goal is not None:
        yield WorkDecision("drop", "Drop the goal", "/goal drop", consequence=_DROPPED)
