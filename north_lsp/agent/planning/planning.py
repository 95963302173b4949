"""What tools need for planning, as one."""

from __future__ import annotations

from north_lsp.agent.planning.asking import QuestionAsker
from north_lsp.agent.planning.goal import GoalKeeper
from north_lsp.agent.planning.plan import PlanKeeper
from north_lsp.agent.planning.todo import TodoKeeper
from north_lsp.agent.planning.workflow import WorkflowKeeper
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Planning:
    """Groups the planning services of one session."""

    todo: TodoKeeper
    questions: QuestionAsker
    plan: PlanKeeper
    goal: GoalKeeper
    workflow: WorkflowKeeper
