"""Keeps the goal of a conversation. That a criterion is met is not what a model says, but what the log shows."""

from collections.abc import Sequence
from dataclasses import replace

from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.reviews import ReviewEntry
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import Result
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import timestamp
from north_lsp.tools.goals import Evidence, Goal, GoalChange, GoalError, parse_goal

_RUN = "shell_run"
_NONE = "there is no goal yet"


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of a command: its call, how it ended, and the last change before its end. `unfit` says why it is no
    evidence; empty if it is."""

    call_id: str
    exit_code: int | None
    state: str
    unfit: str


class GoalKeeper:
    """That of one conversation. The log has the goal, so there may be several keepers of it."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def now(self) -> Goal | None:
        return goal_on(self._log)

    @property
    def document(self) -> str:
        """The goal as Markdown; empty without one."""
        goal = self.now
        return goal.document(self.state) if goal is not None else ""

    @property
    def state(self) -> str:
        """The name of the last change of files that the conversation made, on whatever branch. A command that does more
        than look counts as one, unless it is that of a criterion."""
        return _last_change(self._log.entries())

    def change(self, call: ToolCall, title: str, change: GoalChange) -> Result:
        """Carry out a model's call. Raises ToolError."""
        try:
            goal = self._changed(change)
        except GoalError as error:
            raise ToolError("INVALID_INPUT", str(error), "see the description of the tool goal") from None
        if change.action != "view":
            self._log.append(GoalEntry(goal))
        met = sum(one.is_fresh(self.state) for one in goal.criteria)
        shown = f"Goal: {met} of {len(goal.criteria)} criteria met" + (", complete" * (goal.status == "complete"))
        text = goal.document(self.state)
        return Result(text, False, CallEnded(call.id, shown, True, visible(text)))

    def _changed(self, change: GoalChange) -> Goal:
        """Return what a change makes of the goal. Raises GoalError, ToolError."""
        if change.action == "set":
            return _new(change, _users_goal(self._log), self.now)
        goal = self.now
        if goal is None:
            raise GoalError(f"{_NONE}: begin with `set`")
        match change.action:
            case "add_criterion":
                return goal.with_criterion(change.text, change.command)
            case "evidence":
                return self._judged(goal, change)
            case "block":
                if not change.text.strip():
                    raise GoalError("say in `text` what is in the way")
                return replace(goal, status="blocked", blocked=change.text.strip())
            case "complete":
                if missing := goal.missing(self.state):
                    rows = "\n".join(f"- {one}" for one in missing)
                    raise ToolError("CONFLICT", f"the goal is not reached:\n{rows}", "give fresh evidence for each")
                return replace(goal, status="complete", blocked="")
            case _:
                return goal

    def _judged(self, goal: Goal, change: GoalChange) -> Goal:
        """Take evidence for a criterion; of one with a command, the last run of it decides. Raises GoalError."""
        criterion = goal.criterion(change.id)
        if not criterion.command:
            if not change.text.strip():
                raise GoalError(f"{criterion.id} is judged by inspection: say in `text` what you saw")
            return goal.judged(criterion.id, "met", Evidence(timestamp(), change.text.strip(), "", self.state))
        run = last_run(self._log, criterion.command)
        if run is None:
            raise GoalError(f"{criterion.command!r} was not run in this conversation: run exactly that first")
        if run.unfit:
            raise GoalError(f"the last run of {criterion.command!r} is no evidence: {run.unfit}")
        text = change.text.strip() or f"exit code {run.exit_code}"
        status = "met" if run.exit_code == 0 else "failed"
        return goal.judged(criterion.id, "met" if status == "met" else "failed", _of_run(run, text))

    def confirm(self, id: str) -> None:
        """Take the user's word that a criterion is met which no command shows. Raises GoalError."""
        goal = self.now
        if goal is None:
            raise GoalError(_NONE)
        criterion = goal.criterion(id)
        if criterion.command:
            raise GoalError(f"{criterion.id} is met by a run of its command alone: `{criterion.command}`")
        evidence = Evidence(timestamp(), "the user confirmed it", "", self.state)
        self._log.append(GoalEntry(goal.judged(criterion.id, "met", evidence), by_user=True))

    def edit(self, text: str) -> None:
        """Replace the goal by what the user wrote; empty text drops it. Raises GoalError naming the line."""
        before = self.now
        goal = parse_goal(text, before) if text.strip() else None
        if goal != before:
            self._log.append(GoalEntry(goal, by_user=True))


def goal_on(log: Log) -> Goal | None:
    """Return the goal at the end of the path."""
    found = log.those(_is_goal)
    last = found[-1].entry if found else None
    return last.goal if isinstance(last, GoalEntry) else None


def last_run(log: Log, command: str) -> _Run | None:
    """Return the last run of exactly this command that has ended; what the user changed before it ran is another."""
    path = log.path()
    calls = {
        call.id: str(call.arguments.get("command", "")).strip()
        for one in path
        if isinstance(one.entry, AnswerEntry)
        for call in one.entry.calls
        if call.name == _RUN
    }
    edited = {
        one.entry.call_id
        for one in path
        if isinstance(one.entry, ReviewEntry) and one.entry.decision is not None and one.entry.decision.command
    }
    for one in reversed(path):
        match one.entry:
            case ResultEntry(call_id, tool) if tool == _RUN and calls.get(call_id) == command.strip():
                code = one.entry.details.of_tool.get("exitCode")
                if call_id in edited or one.entry.details.of_tool.get("timedOut") is True:
                    continue
                if isinstance(code, int):
                    unfit = one.entry.details.of_tool.get("unfit", "an older North ran it; run it again")
                    return _Run(call_id, code, _before(log.entries(), one.id), str(unfit))
            case _:
                pass
    return None


def _is_goal(one: Logged) -> bool:
    return isinstance(one.entry, GoalEntry)


def _users_goal(log: Log) -> Goal | None:
    """Return the goal as the user last wrote it; None if they wrote none or dropped it."""
    entries = [one.entry for one in log.those(_is_goal)]
    return next((one.goal for one in reversed(entries) if isinstance(one, GoalEntry) and one.by_user), None)


def _new(change: GoalChange, users: Goal | None, now: Goal | None) -> Goal:
    """Return the goal that a model sets; one that the user wrote can only get more criteria. Raises GoalError."""
    if not change.statement.strip():
        raise GoalError("say in `statement` what is to be reached")
    rows = [(text.strip(), command.strip()) for text, command in change.criteria]
    goal = Goal(change.statement.strip())
    if users is not None:
        if not {(one.text, one.command) for one in users.criteria} <= {*rows}:
            raise GoalError(
                "the goal is the user's: `set` must have all of its criteria as they are; add others with"
                " `add_criterion`, or ask the user to change it with /goal set or /goal drop"
            )
        goal = now or users
    known = {(one.text, one.command) for one in goal.criteria}
    for text, command in rows:
        if (text, command) not in known:
            goal = goal.with_criterion(text, command)
    return goal


def _of_run(run: _Run, text: str) -> Evidence:
    return Evidence(timestamp(), text, run.call_id, run.state)


def _before(entries: Sequence[Logged], id: str) -> str:
    at = next(at for at, one in enumerate(entries) if one.id == id)
    return _last_change(entries[:at])


def _last_change(entries: Sequence[Logged]) -> str:
    last, calls = "", dict[str, str]()
    own: frozenset[str] = frozenset()
    for one in entries:
        match one.entry:
            case GoalEntry(goal):
                own = frozenset(each.command for each in goal.criteria) if goal is not None else frozenset()
            case AnswerEntry() as answer:
                calls |= {call.id: str(call.arguments.get("command", "")).strip() for call in answer.calls}
            case CheckpointEntry(status="applied", files=files) if files:
                last = one.id
            case ResultEntry(call_id, tool, details=details) if tool == _RUN:
                ran = "exitCode" in details.of_tool or "jobId" in details.of_tool
                if ran and calls.get(call_id) not in own and details.of_tool.get("onlyLooks") is not True:
                    last = one.id
            case _:
                pass
    return last
