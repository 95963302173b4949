"""What tools need for planning, as one."""

from dataclasses import dataclass

from north_lsp.agent.planning.asking import QuestionAsker
from north_lsp.agent.planning.plan import PlanKeeper
from north_lsp.agent.planning.todo import TodoKeeper


@dataclass(frozen=True, slots=True)
class Planning:
    """That of one session."""

    todo: TodoKeeper
    questions: QuestionAsker
    plan: PlanKeeper
