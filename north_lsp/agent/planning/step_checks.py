"""What a step of a plan has to show before a model calls it done, while the plan is carried out. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.planning.evidence import Runs
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.goals import Goal
from north_lsp.tools.todo_list import Status, TodoList
from north_lsp.tools.workflows import Step, criteria_named


@dataclass(frozen=True, slots=True)
class StepChecks:
    """Checks the steps of one plan: its steps are tasks of the todo list, by their titles."""

    steps: Sequence[Step]
    goal: Goal | None
    runs: Runs

    def problems(self, before: TodoList, after: TodoList) -> list[str]:
        """Say why steps that a change of the list calls done are not, a line each."""
        was, now = _statuses(before), _statuses(after)
        found: list[str] = []
        for step in self.steps:
            if now.get(step.title) != "completed" or was.get(step.title) == "completed":
                continue
            found += [
                f"{step.title}: it depends on {other.title}, which is {_WORDS[now.get(other.title, 'pending')]}"
                for other in self.steps
                if other.id in step.depends_on and now.get(other.title) != "completed"
            ]
            found += [
                f"{step.title}: its check `{command}` {why}"
                for command in self.checks_of(step, now)
                if (why := self._why_not(command))
            ]
        return found

    def checks_of(self, step: Step, now: dict[str, Status]) -> list[str]:
        """Return the commands that verify a step: those of the criteria that it names, and that no step which is still
        open names, too."""
        others = (one.verify for one in self.steps if one.title != step.title and _is_open(now.get(one.title)))
        named = criteria_named([step.verify]) - criteria_named(others)
        criteria = self.goal.criteria if self.goal is not None else ()
        return [one.command for one in criteria if one.command and named & criteria_named([one.text])]

    def _why_not(self, command: str) -> str:
        run = self.runs.last(command)
        if run is None:
            return "was not run"
        if run.unfit:
            return f"does not count: {run.unfit}"
        if run.state != self.runs.state:
            return "was not run since the last change of files"
        return f"failed ({run.exit_code})" if run.exit_code else ""


def _statuses(todo: TodoList) -> dict[str, Status]:
    return {task.content: task.status for task in todo.tasks}


def _is_open(status: Status | None) -> bool:
    return status in ("pending", "in_progress")


_WORDS: dict[Status, str] = {
    "pending": "not done",
    "in_progress": "not done",
    "abandoned": "dropped: drop this step, too",
    "completed": "done",
}
