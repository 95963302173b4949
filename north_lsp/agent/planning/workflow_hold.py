"""What a workflow keeps models from at this moment. It follows from the log at each call, so that it begins and ends
within a turn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.goal import goal_on
from north_lsp.agent.planning.work_folder import WorkFolder
from north_lsp.agent.planning.workflow_checks import (
    WEB,
    commands_of,
    failures,
    logged_tasks,
    package_tasks,
    task_name,
)
from north_lsp.agent.planning.workflow_course import since_phase, state_on
from north_lsp.agent.ports.holds import Allowance, Hold
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.goals import Goal
from north_lsp.tools.workflows import (
    FILES,
    MOST_CALLS,
    MOST_QUESTIONS,
    MOST_ROUNDS,
    MOST_TIMES,
    MOST_TRIES,
    MOST_WEB,
    WORKFLOWS,
    Package,
    WorkflowError,
    criteria_named,
    packages_in,
    steps_in,
)
from north_lsp.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Assignment:
    """A package that an agent is given: the `checks` that are its alone, and whether it was given to one before."""

    package: Package
    checks: frozenset[str] = frozenset()
    is_again: bool = False


_WAY_OUT = "continue with the tool workflow (`move`), or the user ends it with /work stop"
_LEAVE_IT = "drop its task, continue with what does not depend on it, and ask the user about it at the end"
_NO_READING = ("workflow", "skill", "skill_phase", "goal", "todo", "ask")


def hold_on(log: Log, root: Path | None) -> Hold | None:
    """Return what keeps models from changing or asking anything now. `root` is where the workflow's own documents may
    be written; None for nowhere."""
    state = state_on(log)
    if state is None:
        return None
    if (state.skill, state.phase) == ("execute-and-verify", "work"):
        return _on_commands(log, state)
    if state.phase not in WORKFLOWS[state.skill].held:
        return None
    folder = root / ".north" / "work" / state.slug if root is not None else None
    tools = _tools_in(since_phase(log))
    reads = sum(tool not in _NO_READING for tool in tools)
    is_research = state.skill == "clarify" and "research" in state.options
    left = Allowance(
        calls=MOST_CALLS - reads if (state.skill, state.phase) == ("clarify", "explore") else None,
        rounds=_rounds_left(state, tools.count("ask")),
        questions=MOST_QUESTIONS if state.phase == "question" else None,
        web=MOST_WEB - _web_calls(since_phase(log, "intake")) if is_research else None,
    )
    return Hold(_why(state), _WAY_OUT, lambda path: folder is not None and path.is_relative_to(folder), allowance=left)


def package_of(log: Log, workspace: Workspace, task_id: str, begun: Sequence[str] = ()) -> Assignment | None:
    """Return what a task has to do with the workflow that is at work if it is a package of it; None if it is none.
    `begun` are the ids of tasks that have begun: the log may not have their results yet. Raises ToolError for one that
    was given back already. Blocks."""
    state = state_on(log)
    if state is None or (state.skill, state.phase) != ("parallelize", "work"):
        return None
    folder = WorkFolder(workspace)
    given = [name for name, _ in package_tasks(log)] + [task_name(id) for id in {*begun} - logged_tasks(log)]
    try:
        packages, plan = (folder.read(state.slug, FILES[name]) for name in ("packages", "plan"))
        return _assignment(goal_on(log), packages, plan, task_id, given.count(task_id))
    except WorkflowError as error:
        raise ToolError("CONFLICT", f"the workflow's documents cannot be read: {error}", "write them again") from None


def _assignment(goal: Goal | None, text: str | None, plan: str | None, task_id: str, times: int) -> Assignment | None:
    known = packages_in(text) if text is not None else []
    package = next((one for one in known if one.id == task_id), None)
    if package is None:
        return None
    if times >= MOST_TIMES:
        told = f"{task_id} was given to an agent {MOST_TIMES} times"
        raise ToolError("CONFLICT", told, "do what is left of it yourself once the packages are integrated")
    return Assignment(package, _own_checks(goal, plan, package, known), times > 0)


def _own_checks(goal: Goal | None, plan: str | None, package: Package, others: Sequence[Package]) -> frozenset[str]:
    """Return the commands that verify a package alone: those of the criteria that its steps name, and those of no other
    package."""
    if goal is None or plan is None:
        return frozenset()
    steps = steps_in(plan)[1]

    def named(one: Package) -> set[str]:
        return criteria_named(step.verify for step in steps if step.id in one.steps)

    own = named(package).difference(*(named(one) for one in others if one.id != package.id))
    return frozenset(one.command for one in goal.criteria if one.command and own & criteria_named([one.text]))


def _why(state: SkillStateEntry) -> str:
    auto = ", --auto" if "auto" in state.options else ""
    return f"{state.skill} is active (phase {state.phase}{auto})"


def _rounds_left(state: SkillStateEntry, asked: int) -> int | None:
    """Return how many rounds of questions are left; None for any number. With `auto`, what is not sure is asked once,
    when the specification is confirmed."""
    if state.skill != "clarify":
        return None
    if "auto" in state.options:
        return 1 - asked if state.phase == "confirm" else 0
    return MOST_ROUNDS - asked if state.phase == "question" else None


def _on_commands(log: Log, state: SkillStateEntry) -> Hold | None:
    """Return what keeps models from running checks again that have failed too often in this phase."""
    goal = goal_on(log)
    failed = failures(since_phase(log))
    spent = frozenset(one for one in commands_of(goal) if failed[one] >= MOST_TRIES) if goal is not None else None
    if not spent:
        return None
    return Hold(_why(state), _LEAVE_IT, lambda path: True, closes=False, spent=spent)


def _tools_in(entries: Sequence[Logged]) -> list[str]:
    return [one.entry.tool for one in entries if isinstance(one.entry, ResultEntry)]


def _web_calls(entries: Sequence[Logged]) -> int:
    return sum(tool in WEB for tool in _tools_in(entries))
