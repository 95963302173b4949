"""Keeps the goal of a conversation. That a criterion is met is not what a model says, but what the log shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import anyio.to_thread

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.planning.evidence import Runs, runs_in
from north_lsp.agent.planning.workflow_course import state_on
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import Result
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import timestamp
from north_lsp.tools.goals import CriterionStatus, Evidence, Goal, GoalChange, GoalError, parse_goal
from north_lsp.tools.workflows import WORKFLOWS

_NONE = "there is no goal yet"
_WORKING = ("execute-and-verify", "parallelize")


@dataclass(frozen=True, slots=True)
class GoalKeeper:
    """Changes and checks the goal of one conversation. The log has the goal, so there may be several keepers of it."""

    log: Log

    @property
    def now(self) -> Goal | None:
        return goal_on(self.log)

    @property
    def document(self) -> str:
        """The goal as Markdown; empty without one."""
        goal = self.now
        return goal.document(runs_in(self.log).state) if goal is not None else ""

    async def change(self, call: ToolCall, title: str, change: GoalChange) -> Result:
        """Carry out a model's call. Raises ToolError."""
        runs = runs_in(self.log)
        try:
            goal = self._changed(change, runs)
            await self._ensure_checks(goal)
        except GoalError as error:
            raise ToolError("INVALID_INPUT", str(error), "see the description of the tool goal") from None
        if change.action != "view":
            self.log.append(GoalEntry(goal))
        met = sum(one.is_fresh(runs.state) for one in goal.criteria)
        shown = f"Goal: {met} of {len(goal.criteria)} criteria met" + (", complete" * (goal.status == "complete"))
        text = goal.document(runs.state)
        return Result(text, False, CallEnded(call.id, shown, True, visible(text)))

    def _changed(self, change: GoalChange, runs: Runs) -> Goal:
        """Return what a change makes of the goal. Raises GoalError, ToolError."""
        if change.action == "set":
            return _new(change, self.now, _users_goal(self.log), is_worked_on=_is_worked_on(self.log))
        if (goal := self.now) is None:
            raise GoalError(f"{_NONE}: begin with `set`")
        match change.action:
            case "add_criterion":
                return goal.with_criterion(change.text, change.command)
            case "evidence":
                return _judged(goal, change, runs)
            case "block":
                if not change.text.strip():
                    raise GoalError("describe the blocker in `text`")
                return replace(goal, status="blocked", blocked=change.text.strip())
            case "complete":
                if missing := goal.missing(runs.state):
                    rows = "\n".join(f"- {one}" for one in missing)
                    raise ToolError("CONFLICT", f"the goal is not reached:\n{rows}", "give fresh evidence for each")
                return replace(goal, status="complete", blocked="")
            case _:
                return goal

    async def _ensure_checks(self, goal: Goal) -> None:
        """Refuse new criteria whose commands change files: a run would count as evidence, and not as a change. Raises
        GoalError."""
        known = {one.command for one in self.now.criteria} if self.now is not None else set[str]()
        if wrong := await changing(one.command for one in goal.criteria if one.command not in known):
            raise GoalError(f"a criterion's command only checks: {'; '.join(wrong)}")

    def confirm(self, id: str) -> None:
        """Take the user's word that a criterion is met which no command shows. Raises GoalError."""
        goal = self.now
        if goal is None:
            raise GoalError(_NONE)
        criterion = goal.criterion(id)
        if criterion.command:
            raise GoalError(f"{criterion.id} can only be met by a run of its command: `{criterion.command}`")
        evidence = Evidence(timestamp(), "the user confirmed it", "", runs_in(self.log).state)
        self.log.append(GoalEntry(goal.judged(criterion.id, "met", evidence), by_user=True))

    def edit(self, text: str) -> Goal | None:
        """Replace the goal by what the user wrote; empty text drops it. Raises GoalError naming the line."""
        before = self.now
        goal = parse_goal(text, before) if text.strip() else None
        if goal != before:
            self.log.append(GoalEntry(goal, by_user=True))
        return goal


def goal_on(log: Log) -> Goal | None:
    """Return the goal at the end of the path."""
    found = log.those(_is_goal)
    last = found[-1].entry if found else None
    return last.goal if isinstance(last, GoalEntry) else None


async def changing(commands: Iterable[str]) -> list[str]:
    """Say which commands change files instead of checking them, as far as the policy of commands knows."""
    from north_lsp.command_policy.looking import changes_files

    found = [(one, await anyio.to_thread.run_sync(changes_files, one)) for one in commands if one]
    return [f"`{command}` {why}" for command, why in found if why]


def _is_goal(one: Logged) -> bool:
    return isinstance(one.entry, GoalEntry)


def _users_goal(log: Log) -> Goal | None:
    """Return the goal as the user last wrote it; None if they wrote none or dropped it."""
    entries = [one.entry for one in log.those(_is_goal)]
    return next((one.goal for one in reversed(entries) if isinstance(one, GoalEntry) and one.by_user), None)


def _judged(goal: Goal, change: GoalChange, runs: Runs) -> Goal:
    """Take evidence for a criterion; of one with a command, the last run of it decides. Raises GoalError."""
    criterion = goal.criterion(change.id)
    said = change.text.strip()
    if not criterion.command:
        if not said:
            raise GoalError(f"{criterion.id} is judged by inspection: say in `text` what you saw")
        return goal.judged(criterion.id, "met", Evidence(timestamp(), said, "", runs.state))
    run = runs.last(criterion.command)
    if run is None:
        raise GoalError(f"{criterion.command!r} was not run in this conversation: run exactly that first")
    if run.unfit:
        raise GoalError(f"the last run of {criterion.command!r} does not count as evidence: {run.unfit}")
    status: CriterionStatus = "met" if run.exit_code == 0 else "failed"
    text = said or f"exit code {run.exit_code}"
    return goal.judged(criterion.id, status, Evidence(timestamp(), text, run.call_id, run.state))


def _is_worked_on(log: Log) -> bool:
    """Tell whether a workflow does what it began with the goal for: nobody makes it easier on the way."""
    state = state_on(log)
    return state is not None and state.skill in _WORKING and state.phase != WORKFLOWS[state.skill].first


def _new(change: GoalChange, now: Goal | None, users: Goal | None, *, is_worked_on: bool) -> Goal:
    """Return the goal that a model sets. One that the user wrote, or that a workflow works on, can only get more
    criteria. Raises GoalError."""
    if not change.statement.strip():
        raise GoalError("say in `statement` what is to be reached")
    rows = [(" ".join(text.split()), command.strip()) for text, command in change.criteria]
    goal = Goal(" ".join(change.statement.split()))
    kept = users or (now if is_worked_on else None)
    if kept is not None:
        if not {(one.text, one.command) for one in kept.criteria} <= {*rows}:
            whose = "the user's" if users is not None else "what the workflow works on"
            raise GoalError(
                f"the goal is {whose}: `set` must have all of its criteria as they are; add others with"
                " `add_criterion`, or ask the user to change it with /goal set or /goal drop"
            )
        goal = now or kept
    known = {(one.text, one.command) for one in goal.criteria}
    for text, command in rows:
        if (text, command) not in known:
            goal = goal.with_criterion(text, command)
    return goal
