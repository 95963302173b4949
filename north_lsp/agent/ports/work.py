"""The goal and the workflow of a conversation, as people are shown them."""

from __future__ import annotations

from typing import Literal

from north_lsp.lazy_dataclass import dataclass

CriterionState = Literal["open", "met", "stale", "failed"]
PhaseState = Literal["done", "now", "ahead"]


@dataclass(frozen=True, slots=True)
class CriterionView:
    """A criterion with the last evidence for it, at what time. `stale`: it was met, and files have changed since."""

    id: str
    text: str
    command: str
    state: CriterionState
    evidence: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class GoalView:
    statement: str
    status: Literal["active", "blocked", "complete"]
    blocked: str
    criteria: tuple[CriterionView, ...]


@dataclass(frozen=True, slots=True)
class PhaseView:
    """A phase; `done`: this conversation has been in it."""

    name: str
    state: PhaseState


@dataclass(frozen=True, slots=True)
class WorkflowView:
    """The workflow that is active, or a skill with phases, which has no `folder`. `held` says why edits or commands are
    refused; empty if none is; `spent` are the commands, if only those are. `calls_left` and `rounds_left` are how many
    calls that read, and rounds of questions, its phase has left; None for any number."""

    name: str
    folder: str
    phase: str
    phases: tuple[PhaseView, ...]
    note: str = ""
    held: str = ""
    spent: tuple[str, ...] = ()
    calls_left: int | None = None
    rounds_left: int | None = None


@dataclass(frozen=True, slots=True)
class WorkDecision:
    """Something that the user can decide now: `prompt` does it. `criterion` is the one that it is about, `consequence`
    what should be confirmed first."""

    id: Literal["continue", "confirm", "stop", "drop"]
    title: str
    prompt: str
    criterion: str = ""
    consequence: str = ""


@dataclass(frozen=True, slots=True)
class WorkView:
    """The goal and the workflow of a conversation, for display; None where there is none."""

    goal: GoalView | None = None
    workflow: WorkflowView | None = None
    decisions: tuple[WorkDecision, ...] = ()


NO_WORK = WorkView()
