"""Takes a conversation through workflows. A phase is left only when the log and the documents show what it is for; the
documents are in the project's `.north/work/<slug>/`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.plans import last_plan
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.task_rows import task_rows
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.goal import GoalKeeper, last_run
from north_lsp.agent.planning.plan import PlanKeeper
from north_lsp.agent.planning.work_folder import WorkFolder
from north_lsp.agent.planning.workflow_course import WorkflowCourse, state_on
from north_lsp.agent.ports.editor import NOBODY, Choice
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.holds import Hold
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.workflows import (
    DOCUMENTS,
    MOST_CALLS,
    MOST_LOOPS,
    MOST_QUESTIONS,
    MOST_ROUNDS,
    WORKFLOWS,
    Package,
    WorkflowCall,
    WorkflowError,
    check_spec,
    criteria_in,
    ensure_leads,
    packages_in,
    plan_markdown,
    steps_in,
    uncovered,
    unknowns_in,
    workflow_called,
)
from north_lsp.workspace.workspace import Workspace

_FILES: Mapping[str, str] = {
    "unknowns": "unknowns.json",
    "spec": "spec.md",
    "plan": "plan.json",
    "packages": "packages.json",
}
_WAY_OUT = "continue with the tool workflow (`move`), or the user ends it with /work stop"
_CONFIRM = (("accept", "Accept"), ("change", "Change it"), ("stop", "Stop here"))
_BEGIN = (("begin", "Begin"), ("no", "Do not begin"))
_END = (("end", "End it"), ("no", "Continue with it"))


class WorkflowKeeper(WorkflowCourse):
    """Takes a model through the workflows of one conversation."""

    def __init__(self, log: Log, plan: PlanKeeper, goal: GoalKeeper, ports: Ports) -> None:
        super().__init__(log)
        self._plan = plan
        self._goal = goal
        self._ports = ports

    async def change(self, workspace: Workspace, call: ToolCall, title: str, wanted: WorkflowCall) -> Result:
        """Carry out a model's call. Raises StopTurn, ToolError."""
        try:
            match wanted.action:
                case "start":
                    return await self._start(workspace, call, title, wanted)
                case "move":
                    return await self._move(workspace, call, title, wanted)
                case "write":
                    return await self._write(workspace, call, title, wanted)
                case "stop":
                    await self._ensure_may_end()
                    await self.stop(workspace, "abandoned", "the model ended it")
                    return self._said(call, title, "The workflow has ended.")
                case _:
                    return self._said(call, title, self.described())
        except WorkflowError as error:
            raise ToolError("INVALID_INPUT", str(error), "see the description of the tool workflow") from None

    def _said(self, call: ToolCall, title: str, text: str) -> Result:
        return Result(text, False, CallEnded(call.id, title, True, visible(text)))

    # -- begin and end ---------------------------------------------------------------------------------

    async def _start(self, workspace: Workspace, call: ToolCall, title: str, wanted: WorkflowCall) -> Result:
        workflow = workflow_called(wanted.workflow)
        if not self._ports.editor.has_user:
            raise ToolError("UNAVAILABLE", f"{NOBODY}: no workflow can begin", "do the work without one")
        self.ensure_none()
        asked = f"Begin the workflow {workflow.name} for {one_line(wanted.title, 100) or 'this'}?"
        detail = "Its documents are kept in `.north/work/` of this project."
        choice = Choice(f"work-{new_entry_id(())}", asked, _BEGIN, detail)
        if (await self._ports.editor.decide(choice)).option != "begin":
            raise ToolError("REJECTED", "the user does not want a workflow", "continue without one")
        await self.begin(workspace, workflow, wanted.title)
        return self._said(call, title, self.described())

    async def _ensure_may_end(self) -> None:
        """Ask the user where the end of the workflow lets models change files again. Raises ToolError."""
        state = state_on(self.log)
        if state is None or state.phase not in WORKFLOWS[state.skill].held:
            return
        if not self._ports.editor.has_user:
            raise ToolError("UNAVAILABLE", f"{NOBODY}: the workflow cannot be ended", "continue with it")
        asked = f"End the workflow {state.skill} in its phase {state.phase}?"
        detail = "Models may change files again then."
        choice = Choice(f"work-{new_entry_id(())}", asked, _END, detail)
        if (await self._ports.editor.decide(choice)).option != "end":
            raise ToolError("REJECTED", "the user does not want the workflow to end", "continue with it")

    # -- phases ----------------------------------------------------------------------------------------

    async def _move(self, workspace: Workspace, call: ToolCall, title: str, wanted: WorkflowCall) -> Result:
        state = self._active()
        workflow = WORKFLOWS[state.skill]
        ensure_leads(workflow, state.phase, wanted.to)
        folder = WorkFolder(workspace)
        await anyio.to_thread.run_sync(folder.state, state.slug)  # a broken one is only read
        if wanted.to == "abandoned":
            await self._ensure_may_end()
            await self.stop(workspace, "abandoned", wanted.note or "the model ended it")
            return self._said(call, title, "The workflow has ended.")
        documents = await anyio.to_thread.run_sync(self._documents, folder, state.slug)
        self._check(state, wanted.to, documents)
        if wanted.to == "done" and state.skill == "clarify":
            return await self._confirmed(workspace, call, title, documents.get("spec", ""))
        if wanted.to == "done" and state.skill == "plan":
            return await self._approved(workspace, call, title, wanted.note)
        table = _table(packages_in(documents["packages"]), self._rows()) if state.skill == "parallelise" else ""
        await self._go(workspace, state, wanted.to, wanted.note)
        return self._said(call, title, "\n\n".join(part for part in (self._where(wanted.to), table) if part))

    def _where(self, to: str) -> str:
        return "The workflow is done." if to == "done" else self.described()

    async def _go(self, workspace: Workspace, state: SkillStateEntry, to: str, why: str) -> None:
        await self.noted(workspace, state, to, why)
        self.log.append(SkillStateEntry("", "", "", to) if to == "done" else replace(state, phase=to, note=why))

    def _active(self) -> SkillStateEntry:
        state = state_on(self.log)
        if state is None:
            raise WorkflowError("no workflow is active: begin one with `start`")
        return state

    @staticmethod
    def _documents(folder: WorkFolder, slug: str) -> dict[str, str]:
        return {name: text for name in DOCUMENTS if (text := folder.read(slug, _FILES[name])) is not None}

    def _check(self, state: SkillStateEntry, to: str, documents: Mapping[str, str]) -> None:
        """Raise WorkflowError where a phase has not done what it is for."""
        match state.skill, state.phase, to:
            case "clarify", "explore", "question":
                unknowns_in(_needed(documents, "unknowns"))
            case "clarify", "question", "draft":
                rows = unknowns_in(_needed(documents, "unknowns"))
                if still := [one.id for one in rows if one.impact == "high" and one.status == "open"]:
                    raise WorkflowError(f"unknowns with a high impact are open: {', '.join(still)}; ask about them")
            case "clarify", "draft", "confirm":
                check_spec(_needed(documents, "spec"))
            case "plan", ("draft" | "revise"), "assess":
                steps_in(_needed(documents, "plan"))
            case "plan", "assess", "challenge":
                self._needs_agent("architect")
            case "plan", "challenge", "revise":
                if self._loops(state.slug) >= MOST_LOOPS:
                    raise WorkflowError(f"it was revised {MOST_LOOPS} times: present it, with what is open")
            case "plan", "challenge", "present":
                self._needs_agent("critic")
                if not self._approved_by_critic() and self._loops(state.slug) < MOST_LOOPS:
                    raise WorkflowError("the critic has not approved it: revise the plan")
                _, steps = steps_in(_needed(documents, "plan"))
                if left := uncovered(criteria_in(documents.get("spec", "")), steps):
                    raise WorkflowError(f"no step verifies the acceptance criteria {', '.join(left)}")
            case "execute-and-verify", phase, _ if to != "blocked":
                self._check_execution(phase, to)
            case "parallelise", "packages", "work":
                packages_in(_needed(documents, "packages"))
            case "parallelise", "work", "integrate":
                rows_of = {_task_name(row_id) for row_id, _ in self._rows()}
                missing = [one.id for one in packages_in(_needed(documents, "packages")) if one.id not in rows_of]
                if missing:
                    raise WorkflowError(f"no agent has worked on {', '.join(missing)}")
            case _:
                pass

    def _check_execution(self, phase: str, to: str) -> None:
        goal, state = self._goal.now, self._goal.state
        if goal is None or not goal.criteria:
            raise WorkflowError("there is no goal with criteria: set it with the tool goal")
        commands = [one.command for one in goal.criteria if one.command]
        runs = {command: last_run(self.log, command) for command in commands}
        never = [one for one, run in runs.items() if run is None or run.unfit]
        if (phase == "baseline" or (phase == "blocked" and not self._had_work())) and never:
            raise WorkflowError(f"not run yet: {', '.join(never)}")
        stale = [one for one, run in runs.items() if run is None or run.unfit or run.state != state]
        if phase == "verify" and to == "review" and stale:
            raise WorkflowError(f"files have changed since these were run: {', '.join(stale)}")
        if phase == "review" and to == "done":
            self._needs_agent("reviewer", after=state)
            if goal.status != "complete" or goal.missing(state):
                raise WorkflowError("it is done only when the goal is complete: call goal with `complete`")

    def _since(self) -> Sequence[Logged]:
        """Return what came after the last change of phase."""
        path = self.log.path()
        at = max((at for at, one in enumerate(path) if isinstance(one.entry, SkillStateEntry)), default=-1)
        return path[at + 1 :]

    def _ended_tasks(self) -> list[tuple[str, ResultEntry]]:
        """Return the results of tasks in this phase, with the ids of their entries."""
        entries = [(one.id, one.entry) for one in self._since()]
        return [(id, one) for id, one in entries if isinstance(one, ResultEntry) and one.tool == "task"]

    def _needs_agent(self, agent: str, after: str = "") -> None:
        """Raise WorkflowError unless an agent has ended well in this phase and, if given, `after` an entry."""
        since = self._ended_tasks()
        ids = [one.id for one in self.log.entries()]
        start = ids.index(after) if after in ids else -1
        rows = [row for id, one in since if ids.index(id) > start for row in task_rows(one.details.of_tool)]
        if not any(row.agent == agent and row.state in ("done", "unstructured") for row in rows):
            when = " since the last change" if after else ""
            raise WorkflowError(f"the agent {agent} has not done its part in this phase{when}: give it a task")

    def _approved_by_critic(self) -> bool:
        """Tell whether the last answer of the critic is an approval. Raises WorkflowError if it is not alone."""
        for _, one in reversed(self._ended_tasks()):
            rows = task_rows(one.details.of_tool)
            if any(row.agent == "critic" for row in rows):
                if len(rows) > 1:
                    raise WorkflowError("the critic shared a call with other tasks: give it one of its own")
                return rows[0].state == "done" and '"verdict": "approve"' in one.text
        return False

    def _had_work(self) -> bool:
        """Tell whether the workflow has come to its phase `work` after a baseline."""
        states = [one.entry for one in self.log.path() if isinstance(one.entry, SkillStateEntry)]
        begun = max((at for at, one in enumerate(states) if one.phase == "load"), default=0)
        return any(one.phase == "work" for one in states[begun:])

    def _loops(self, slug: str) -> int:
        states = (one.entry for one in self.log.path())
        return sum(isinstance(one, SkillStateEntry) and (one.slug, one.phase) == (slug, "revise") for one in states)

    def _rows(self) -> list[tuple[str, str]]:
        """Return the ids of tasks since the work began, with how they ended."""
        path = self.log.path()
        starts = [
            at
            for at, one in enumerate(path)
            if isinstance(one.entry, SkillStateEntry) and one.entry.phase == "packages"
        ]
        after = path[starts[-1] :] if starts else path
        results = [one.entry for one in after if isinstance(one.entry, ResultEntry)]
        return [(row.id, row.state) for one in results for row in task_rows(one.details.of_tool)]

    # -- what the user decides ---------------------------------------------------------------------------

    async def _confirmed(self, workspace: Workspace, call: ToolCall, title: str, spec: str) -> Result:
        state = self._active()
        choice = Choice(f"work-{new_entry_id(())}", "Accept this specification?", _CONFIRM, spec, alike=True)
        decided = await self._ports.editor.decide(choice)
        match decided.option:
            case "accept":
                await self._go(workspace, state, "done", "accepted")
                return self._said(call, title, f"The user accepts it: `.north/work/{state.slug}/spec.md`.")
            case "stop":
                await self.stop(workspace, "abandoned", decided.comment or "the user stopped it")
                return self._said(call, title, "The user stopped the workflow. End your turn.")
            case _:
                comment = decided.comment or "no reason was given; ask"
                await self._go(workspace, state, "draft", comment)
                return self._said(call, title, f"The user wants it changed: {comment}\n{self.described()}")

    async def _approved(self, workspace: Workspace, call: ToolCall, title: str, summary: str) -> Result:
        state = self._active()
        result = await self._plan.present(call, title, summary)
        known = last_plan(self.log.path())
        if known is not None and known.approved:
            await self._go(workspace, state, "done", "approved")
        return result

    # -- documents -------------------------------------------------------------------------------------

    async def _write(self, workspace: Workspace, call: ToolCall, title: str, wanted: WorkflowCall) -> Result:
        state = self._active()
        workflow = WORKFLOWS[state.skill]
        if wanted.document not in workflow.documents:
            told = ", ".join(workflow.documents) or "none"
            raise WorkflowError(f"{workflow.name} has no document {wanted.document[:40]!r}; it has: {told}")
        folder = WorkFolder(workspace)
        _CHECKS[wanted.document](wanted.content)
        if wanted.document == "plan":
            await self._plan.write(call, title, plan_markdown(*steps_in(wanted.content)))
        await anyio.to_thread.run_sync(folder.state, state.slug)
        await anyio.to_thread.run_sync(folder.put, state.slug, _FILES[wanted.document], wanted.content)
        if wanted.document == "plan":
            text = plan_markdown(*steps_in(wanted.content))
            await anyio.to_thread.run_sync(folder.put, state.slug, "plan.md", text)
        return self._said(call, title, f"Written: `.north/work/{state.slug}/{_FILES[wanted.document]}`.")


_CHECKS: Mapping[str, Callable[[str], object]] = {
    "unknowns": unknowns_in,
    "spec": check_spec,
    "plan": steps_in,
    "packages": packages_in,
}


def hold_on(log: Log, root: Path | None) -> Hold | None:
    """Return what keeps models from changing anything now. `root` is where the workflow's own documents may be
    written; None for nowhere."""
    state = state_on(log)
    if state is None or state.phase not in WORKFLOWS[state.skill].held:
        return None
    folder = root / ".north" / "work" / state.slug if root is not None else None
    path = log.path()
    at = max(at for at, one in enumerate(path) if isinstance(one.entry, SkillStateEntry))
    tools = [one.entry.tool for one in path[at + 1 :] if isinstance(one.entry, ResultEntry)]
    reads = sum(tool not in ("workflow", "skill_phase", "goal", "todo", "ask") for tool in tools)
    is_question = state.phase == "question"
    return Hold(
        f"{state.skill} is active (phase {state.phase})",
        _WAY_OUT,
        lambda path: folder is not None and path.is_relative_to(folder),
        calls_left=MOST_CALLS - reads if (state.skill, state.phase) == ("clarify", "explore") else None,
        questions=MOST_QUESTIONS if is_question else None,
        rounds_left=MOST_ROUNDS - tools.count("ask") if is_question else None,
    )


def owned_by(log: Log, workspace: Workspace, task_id: str) -> tuple[str, ...] | None:
    """Return what a task may change if it is a package of a workflow that is at work; None if it is none. Blocks."""
    state = state_on(log)
    if state is None or (state.skill, state.phase) != ("parallelise", "work"):
        return None
    text = WorkFolder(workspace).read(state.slug, _FILES["packages"])
    known: list[Package] = packages_in(text) if text is not None else []
    return next((one.owns for one in known if one.id == task_id), None)


def _needed(documents: Mapping[str, str], name: str) -> str:
    text = documents.get(name)
    if text is None:
        raise WorkflowError(f"{_FILES[name]} is missing: write it first")
    return text


def _task_name(id: str) -> str:
    """Return the name of a task, as it was given: without the number before it."""
    return id.rpartition(".")[2].partition("-")[2]


def _table(packages: Sequence[Package], rows: Sequence[tuple[str, str]]) -> str:
    """Say how the packages ended, a row each; of several tasks of one, the last counts."""
    ended = {_task_name(id): state for id, state in rows}
    lines = [f"| {one.id} | {one.agent} | {ended.get(one.id, 'not begun')} |" for one in packages]
    return "\n".join(["| package | agent | ended |", "|---|---|---|", *lines])
