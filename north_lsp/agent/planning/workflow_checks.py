"""What a phase of a workflow has to show before it is left: the log and the documents say whether it has done what it
is for. Pure, but for the goal that it looks up in the log."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from north_lsp.agent.log.command_details import CommandDetails
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.task_rows import task_rows
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.evidence import Runs, runs_in
from north_lsp.agent.planning.goal import goal_on
from north_lsp.agent.planning.workflow_course import since_phase
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.goals import Goal
from north_lsp.tools.workflows import (
    FILES,
    MOST_LOOPS,
    MOST_TIMES,
    MOST_TRIES,
    Document,
    Package,
    WorkflowError,
    check_sources,
    check_spec,
    criteria_in,
    criteria_named,
    packages_in,
    steps_in,
    uncovered,
    unknowns_in,
)

WEB = ("web_search", "web_fetch")
Documents = Mapping[Document, str]
_DONE = ("done", "unstructured")
_RUN = "shell_run"
_MILD = ("medium", "low")


@dataclass(frozen=True, slots=True)
class Compared:
    """How a command ended before the work began, and how it ended last; None where it did not run."""

    command: str
    before: int | None
    now: int | None

    @property
    def is_worse(self) -> bool:
        return self.before == 0 and self.now != 0


@dataclass(frozen=True, slots=True)
class PhaseChecks:
    """Checks the phases of one conversation's workflow."""

    log: Log

    def check(self, state: SkillStateEntry, to: str, note: str, documents: Documents) -> None:
        """Raise WorkflowError where a phase has not done what it is for."""
        match state.skill:
            case "clarify":
                self._check_clarify(state, to, documents)
            case "plan":
                self._check_plan(state, to, documents)
            case "execute-and-verify" if to != "blocked":
                self._check_execution(state.phase, to, note, documents)
            case "parallelize":
                self._check_packages(state.phase, to, documents)
            case _:
                pass

    def _check_clarify(self, state: SkillStateEntry, to: str, documents: Documents) -> None:
        is_auto = "auto" in state.options
        match state.phase, to:
            case "explore", "question":
                unknowns_in(needed(documents, "unknowns"))
            case "question", "draft":
                rows = unknowns_in(needed(documents, "unknowns"), is_auto=is_auto)
                if still := [one.id for one in rows if one.impact == "high" and one.status == "open"]:
                    hint = "take their defaults" if is_auto else "ask about them"
                    raise WorkflowError(f"unknowns with a high impact are open: {', '.join(still)}; {hint}")
            case "draft", "confirm":
                check_spec(needed(documents, "spec"))
                if "research" in state.options and self._looked_something_up():
                    check_sources(needed(documents, "spec"))
            case "confirm", "done" if is_auto and not any(one.tool == "ask" for _, one in self._results()):
                rows = unknowns_in(needed(documents, "unknowns"), is_auto=True)
                if unsure := [one.id for one in rows if one.is_unsure]:
                    told = f"{', '.join(unsure)} are important and still uncertain"
                    raise WorkflowError(f"{told}: ask about them with one call of `ask`, then write down the answers")
            case _:
                pass

    def _check_plan(self, state: SkillStateEntry, to: str, documents: Documents) -> None:
        match state.phase, to:
            case (("draft" | "revise"), "assess"):
                steps_in(needed(documents, "plan"))
            case "assess", "challenge":
                self._needs_agent("architect")
            case "challenge", "revise":
                if self._loops(state.slug) >= MOST_LOOPS:
                    raise WorkflowError(f"it was revised {MOST_LOOPS} times: present it, with what is open")
            case "challenge", "present":
                self._needs_agent("critic")
                if not self._approved_by_critic() and self._loops(state.slug) < MOST_LOOPS:
                    raise WorkflowError("the critic has not approved it: revise the plan")
                _, steps = steps_in(needed(documents, "plan"))
                if left := uncovered(criteria_in(documents.get("spec", "")), steps):
                    raise WorkflowError(f"no step verifies the acceptance criteria {', '.join(left)}")
            case _:
                pass

    def _check_execution(self, phase: str, to: str, note: str, documents: Documents) -> None:
        goal, runs = goal_on(self.log), runs_in(self.log)
        if goal is None or not goal.criteria:
            raise WorkflowError("there is no goal with criteria: set it with the tool goal")
        commands = commands_of(goal)
        match phase, to:
            case "load", _:
                named = criteria_named(one.text for one in goal.criteria)
                if left := [one for one in criteria_in(documents.get("spec", "")) if one not in named]:
                    raise WorkflowError(f"no criterion of the goal names the acceptance criteria {', '.join(left)}")
            case (("baseline" | "blocked"), _) if phase == "baseline" or not self._had_work():
                if never := [one for one in commands if not _is_evidence(runs, one)]:
                    raise WorkflowError(f"not run yet: {', '.join(never)}")
            case "work", "verify" if failed := self._failed_unasked(commands):
                told = f"{', '.join(failed)} failed {MOST_TRIES} times"
                raise WorkflowError(f"{told}: ask the user with `ask` what is to become of it, or move to blocked")
            case "verify", "review":
                ensure_fresh(runs, commands)
                if worse := [row.command for row in self.compared(goal, runs) if row.is_worse]:
                    raise WorkflowError(f"passed before the work began, and fails now: {', '.join(worse)}")
            case "review", "done":
                self._check_review(goal, runs, note)
            case _:
                pass

    def _failed_unasked(self, commands: Sequence[str]) -> list[str]:
        """Return the commands that have failed too often in this phase, unless the user was asked since."""
        entries = since_phase(self.log)
        asked = [at for at, one in enumerate(entries) if isinstance(one.entry, ResultEntry) and _was_asked(one.entry)]
        failed, known = failures(entries), failures(entries[: asked[-1] if asked else 0])
        return [one for one in commands if failed[one] >= MOST_TRIES and known[one] < MOST_TRIES]

    def _check_review(self, goal: Goal, runs: Runs, note: str) -> None:
        self._needs_agent("reviewer", after=runs.state)
        if (why := self._wants_a_reason()) and not note.strip():
            raise WorkflowError(
                f"the reviewer {why}: fix it and have it reviewed again, or say in `note` why it is not fixed"
            )
        if goal.status != "complete" or goal.missing(runs.state):
            raise WorkflowError("it is done only when the goal is complete: call goal with `complete`")

    def _check_packages(self, phase: str, to: str, documents: Documents) -> None:
        match phase, to:
            case "packages", "work":
                packages_in(needed(documents, "packages"))
            case "work", "integrate":
                tasks = package_tasks(self.log)
                ended, names = dict(tasks), [name for name, _ in tasks]
                packages = [one.id for one in packages_in(needed(documents, "packages"))]
                if missing := [one for one in packages if one not in ended]:
                    raise WorkflowError(f"no agent has worked on {', '.join(missing)}")
                if back := [one for one in packages if ended[one] == "failed" and names.count(one) < MOST_TIMES]:
                    raise WorkflowError(f"{', '.join(back)} did not fit: give it to its agent once more")
            case "integrate", "done" if (goal := goal_on(self.log)) is not None:
                ensure_fresh(runs_in(self.log), commands_of(goal))
            case _:
                pass

    # -- what the log shows ------------------------------------------------------------------------------

    def compared(self, goal: Goal, runs: Runs) -> list[Compared]:
        """Compare how the goal's commands ended before the work began with how they ended last."""
        before = self._before_work()
        rows: list[Compared] = []
        for command in commands_of(goal):
            first = [run for run in runs.of.get(command, ()) if run.id in before]
            last = runs.last(command)
            code = last.exit_code if last is not None else None
            rows.append(Compared(command, first[-1].exit_code if first else None, code))
        return rows

    def codes(self, goal: Goal, runs: Runs) -> str:
        """Say how the goal's commands ended, a row each; empty without any."""
        rows = [f"| `{row.command}` | {_code(row.before)} | {_code(row.now)} |" for row in self.compared(goal, runs)]
        return "\n".join(["| command | before the work | now |", "|---|---|---|", *rows]) if rows else ""

    def _before_work(self) -> set[str]:
        """Return the ids of what was there when the work began."""
        work = next((one.id for one in since_phase(self.log, "load") if _phase_of(one) == "work"), "")
        ids = [one.id for one in self.log.path()]
        return {*ids[: ids.index(work)]} if work else {*ids}

    def table(self, packages: Sequence[Package]) -> str:
        """Say how the packages ended, a row each; of several tasks of one, the last counts."""
        rows = package_tasks(self.log)
        ended, names = dict(rows), [name for name, _ in rows]
        lines = [
            f"| {one.id} | {one.agent} | {ended.get(one.id, 'not begun')} | {names.count(one.id)} |" for one in packages
        ]
        return "\n".join(["| package | agent | ended | times |", "|---|---|---|---|", *lines])

    def _results(self) -> list[tuple[str, ResultEntry]]:
        """Return the results of this phase, with the ids of their entries."""
        return [(one.id, one.entry) for one in since_phase(self.log) if isinstance(one.entry, ResultEntry)]

    def _ended_tasks(self) -> list[tuple[str, ResultEntry]]:
        return [(id, one) for id, one in self._results() if one.tool == "task"]

    def _looked_something_up(self) -> bool:
        """Tell whether the web said anything since the workflow began: it may be closed, and the user may deny it."""
        results = [one.entry for one in since_phase(self.log, "intake") if isinstance(one.entry, ResultEntry)]
        return any(one.tool in WEB and one.details.ok for one in results)

    def _needs_agent(self, agent: str, after: str = "") -> None:
        """Raise WorkflowError unless an agent has ended well in this phase and, if given, `after` an entry."""
        ids = [one.id for one in self.log.entries()]
        start = ids.index(after) if after in ids else -1
        ended = [one for id, one in self._ended_tasks() if ids.index(id) > start]
        rows = [row for one in ended for row in task_rows(one.details.of_tool)]
        if not any(row.agent == agent and row.state in _DONE for row in rows):
            when = " since the last change" if after else ""
            raise WorkflowError(f"the agent {agent} has not done its part in this phase{when}: give it a task")

    def _last_of(self, agent: str) -> ResultEntry | None:
        """Return the last result of an agent in this phase. Raises WorkflowError if it is not alone in it."""
        for _, one in reversed(self._ended_tasks()):
            rows = task_rows(one.details.of_tool)
            if any(row.agent == agent for row in rows):
                if len(rows) > 1:
                    raise WorkflowError(f"the {agent} shared a call with other tasks: give it one of its own")
                return one
        return None

    def _approved_by_critic(self) -> bool:
        """Tell whether the last answer of the critic is an approval."""
        last = self._last_of("critic")
        if last is None or task_rows(last.details.of_tool)[0].state != "done":
            return False
        return _handed_in(last).get("verdict") == "approve"

    def said_by(self, agent: str, state: SkillStateEntry) -> str:
        """Return what an agent said last in the phase of a review; empty elsewhere."""
        last = self._last_of(agent) if state.phase == "review" else None
        return last.text if last is not None else ""

    def _wants_a_reason(self) -> str:
        """Say what the reviewer found that is not left without a word; empty if it is nothing."""
        last = self._last_of("reviewer")
        findings = _handed_in(last).get("findings") if last is not None else []
        if not isinstance(findings, list):  # it is too long to be here as a whole, or in another form
            return "found something that North cannot read"
        severities = [one.get("severity") for one in findings if isinstance(one, Mapping)]
        return "found something of high severity" if any(one not in _MILD for one in severities) else ""

    def _had_work(self) -> bool:
        """Tell whether the workflow has come to its phase `work` after a baseline."""
        return any(_phase_of(one) == "work" for one in since_phase(self.log, "load"))

    def _loops(self, slug: str) -> int:
        states = (one.entry for one in self.log.path())
        return sum(isinstance(one, SkillStateEntry) and (one.slug, one.phase) == (slug, "revise") for one in states)


def _code(code: int | None) -> str:
    return "not run" if code is None else "passes" if code == 0 else f"fails ({code})"


def needed(documents: Documents, name: Document) -> str:
    """Return a document. Raises WorkflowError if there is none."""
    text = documents.get(name)
    if text is None:
        raise WorkflowError(f"{FILES[name]} is missing: write it first")
    return text


def commands_of(goal: Goal) -> list[str]:
    """Return the commands of a goal's criteria."""
    return [one.command for one in goal.criteria if one.command]


def ensure_fresh(runs: Runs, commands: Iterable[str]) -> None:
    """Raise WorkflowError naming the commands that did not run since the last change of files."""
    stale = [one for one in commands if not _is_evidence(runs, one, since=runs.state)]
    if stale:
        raise WorkflowError(f"files have changed since these were run: {', '.join(stale)}")


def failures(entries: Sequence[Logged]) -> Counter[str]:
    """Count how often each command has failed since it last succeeded."""
    commands: dict[str, str] = {}
    failed: Counter[str] = Counter()
    for one in entries:
        match one.entry:
            case AnswerEntry(calls=calls):
                commands |= {call.id: str(call.arguments.get("command", "")).strip() for call in calls}
            case ResultEntry(call_id, tool, details=details) if tool == _RUN:
                if (told := CommandDetails.of(details.of_tool)).ended:
                    command = commands.get(call_id, "")
                    failed[command] = failed[command] + 1 if told.exit_code != 0 else 0
            case _:
                pass
    return failed


def _handed_in(result: ResultEntry) -> Mapping[str, object]:
    """Return what the only task of a call has handed in; empty if that is no object, or not there as a whole."""
    with suppress(ValueError, RecursionError):
        found = json.loads("{" + result.text.partition("\n{")[2])
        return found if isinstance(found, Mapping) else {}
    return {}


def _was_asked(result: ResultEntry) -> bool:
    """Tell whether the user has seen a question, whatever they answered."""
    return result.tool == "ask" and not result.is_error


def package_tasks(log: Log) -> list[tuple[str, str]]:
    """Return the names of tasks since the packages were made, with how they ended."""
    results = [one.entry for one in since_phase(log, "packages") if isinstance(one.entry, ResultEntry)]
    return [(task_name(row.id), row.state) for one in results for row in task_rows(one.details.of_tool)]


def logged_tasks(log: Log) -> set[str]:
    """Return the ids of all tasks that the log has, on whatever branch."""
    results = [one.entry for one in log.entries() if isinstance(one.entry, ResultEntry)]
    return {row.id for result in results for row in task_rows(result.details.of_tool)}


def task_name(id: str) -> str:
    """Return the name of a task, as it was given: without the number before it."""
    return id.rpartition(".")[2].partition("-")[2]


def _is_evidence(runs: Runs, command: str, since: str | None = None) -> bool:
    run = runs.last(command)
    return run is not None and not run.unfit and since in (None, run.state)


def _phase_of(one: Logged) -> str:
    return one.entry.phase if isinstance(one.entry, SkillStateEntry) else ""
