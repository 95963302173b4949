"""Takes a conversation through workflows. A phase is left only when the log and the documents show what it is for; the
documents are in the project's `.north/work/<slug>/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import anyio.to_thread

from north_lsp.agent.log.plans import last_plan
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.evidence import runs_in
from north_lsp.agent.planning.goal import goal_on
from north_lsp.agent.planning.plan import PlanKeeper
from north_lsp.agent.planning.step_checks import StepChecks
from north_lsp.agent.planning.work_evidence import WorkEvidence
from north_lsp.agent.planning.work_folder import WorkFolder
from north_lsp.agent.planning.workflow_checks import Documents, PhaseChecks
from north_lsp.agent.planning.workflow_course import WorkflowCourse, state_on
from north_lsp.agent.ports.editor import NOBODY, Choice
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.todo_list import Change, Phase, Task, TodoList
from north_lsp.tools.workflows import (
    FILES,
    WORKFLOWS,
    WorkflowCall,
    WorkflowError,
    check_spec,
    ensure_leads,
    packages_in,
    plan_markdown,
    steps_in,
    unknowns_in,
    workflow_called,
)
from north_lsp.workspace.workspace import Workspace

_DO_STEP = "run its check, or drop the step if it has failed too often"
_CONFIRM = (("accept", "Accept"), ("change", "Change it"), ("stop", "Stop here"))


@dataclass(frozen=True, slots=True)
class _Leave:
    """Something that a model does only if the user agrees: the `options`, of which the first agrees, and what the model
    is told without a user (`alone`) and without their agreement (`refused`)."""

    options: tuple[tuple[str, str], ...]
    detail: str
    alone: str
    refused: str
    hint: str


_BEGIN = _Leave(
    (("begin", "Begin"), ("no", "Do not begin")),
    "Its documents are kept in `.north/work/` of this project.",
    "no workflow can begin",
    "the user does not want a workflow",
    "continue without one",
)
_END = _Leave(
    (("end", "End it"), ("no", "Continue with it")),
    "Models may change files again then.",
    "the workflow cannot be ended",
    "the user does not want the workflow to end",
    "continue with it",
)


class WorkflowKeeper(WorkflowCourse):
    """Takes a model through the workflows of one conversation."""

    def __init__(self, plan: PlanKeeper, ports: Ports, evidence: WorkEvidence) -> None:
        super().__init__(plan.log)
        self.evidence = evidence
        self._checks = PhaseChecks(plan.log)
        self._plan = plan
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
                    return await self._end(workspace, call, title, wanted.note)
                case _:
                    return self._said(call, title, self.described())
        except WorkflowError as error:
            raise ToolError("INVALID_INPUT", str(error), "see the description of the tool workflow") from None

    def _said(self, call: ToolCall, title: str, text: str) -> Result:
        return Result(text, False, CallEnded(call.id, title, True, visible(text)))

    # -- begin and end ---------------------------------------------------------------------------------

    async def _start(self, workspace: Workspace, call: ToolCall, title: str, wanted: WorkflowCall) -> Result:
        workflow = workflow_called(wanted.workflow)
        self.ensure_none()
        asked = f"Begin the workflow {workflow.name} for {one_line(wanted.title, 100) or 'this'}?"
        await self._ensure_agreed(call, asked, _BEGIN)
        await self.begin(workspace, workflow, wanted.title)
        return self._said(call, title, self.described())

    async def _end(self, workspace: Workspace, call: ToolCall, title: str, note: str) -> Result:
        """End the workflow before it is done. The user is asked where that lets models change files again."""
        state = state_on(self.log)
        if state is not None and state.phase in WORKFLOWS[state.skill].held:
            await self._ensure_agreed(call, f"End the workflow {state.skill} in its phase {state.phase}?", _END)
        await self.stop(workspace, note or "the model ended it")
        return self._said(call, title, "The workflow has ended.")

    async def _ensure_agreed(self, call: ToolCall, question: str, leave: _Leave) -> None:
        """Ask the user. Raises ToolError unless they agree."""
        if not self._ports.editor.has_user:
            raise ToolError("UNAVAILABLE", f"{NOBODY}: {leave.alone}", leave.hint)
        choice = Choice(f"work-{new_entry_id(())}", question, leave.options, leave.detail, call_id=call.id)
        if (await self._ports.editor.decide(choice)).option != leave.options[0][0]:
            raise ToolError("REJECTED", leave.refused, leave.hint)

    # -- phases ----------------------------------------------------------------------------------------

    async def _move(self, workspace: Workspace, call: ToolCall, title: str, wanted: WorkflowCall) -> Result:
        state, to = self._active(), wanted.to
        ensure_leads(WORKFLOWS[state.skill], state.phase, to)
        folder = WorkFolder(workspace)
        await anyio.to_thread.run_sync(folder.state, state.slug)  # a broken one is only read
        if to == "abandoned":
            return await self._end(workspace, call, title, wanted.note)
        documents = await anyio.to_thread.run_sync(_documents, folder, state.slug)
        self._checks.check(state, to, wanted.note, documents)
        if to == "done" and state.skill == "clarify":
            return await self._confirmed(workspace, call, title, documents.get("spec", ""))
        if to == "done" and state.skill == "plan":
            return await self._approved(workspace, call, title, wanted.note)
        if (state.skill, state.phase) == ("execute-and-verify", "load"):
            await self._list_steps(documents)
        parts = await self._shown(state, to, documents)
        if said := [part for part in (*parts, self._checks.said_by("reviewer", state)) if part]:
            await self.evidence.keep(workspace, state, state.phase, f"# {state.skill}: {state.phase}", *said)
        await self._go(workspace, state, to, wanted.note)
        where = "The workflow is done." if to == "done" else self.described()
        return self._said(call, title, "\n\n".join(part for part in (where, *parts) if part))

    async def ensure_done(self, workspace: Workspace, changes: Sequence[Change]) -> None:
        """Refuse a change of the todo list that calls a step of the plan done which is not, while the plan is carried
        out. Raises ToolError naming each."""
        state = state_on(self.log)
        if state is None or (state.skill, state.phase) != ("execute-and-verify", "work"):
            return
        before = self._plan.todo.now
        after, problems = before.changed(changes)
        text = await anyio.to_thread.run_sync(WorkFolder(workspace).read, state.slug, FILES["plan"])
        if problems or text is None:
            return  # the list itself says what is wrong with it
        try:
            steps = steps_in(text)[1]
        except WorkflowError as error:
            raise ToolError("CONFLICT", f"the plan cannot be read: {error}", "ask the user to repair it") from None
        if missing := StepChecks(steps, goal_on(self.log), runs_in(self.log)).problems(before, after):
            rows = "\n".join(f"- {one}" for one in missing)
            raise ToolError("CONFLICT", f"nothing was changed in the list:\n{rows}", _DO_STEP)

    async def _list_steps(self, documents: Documents) -> None:
        """Make the steps of the workflow's plan the todo list, unless there is one."""
        if (text := documents.get("plan")) is not None and not self._plan.todo.now.tasks:
            tasks = tuple(map(Task, dict.fromkeys(one.title for one in steps_in(text)[1])))
            await self._plan.todo.put(TodoList((Phase("Plan", tasks),)).normalized())

    async def _shown(self, state: SkillStateEntry, to: str, documents: Documents) -> list[str]:
        """Return what the model is shown on the way from one phase to the next, as tables."""
        goal = goal_on(self.log)
        packages = documents.get("packages") if state.skill == "parallelize" else None
        parts = [self._checks.table(packages_in(packages))] if packages is not None else []
        checks_ran = (state.skill, state.phase) in (
            ("execute-and-verify", "baseline"),
            ("execute-and-verify", "verify"),
        )
        if goal is not None and (checks_ran or (state.skill, to) == ("parallelize", "done")):
            parts.append(self._checks.codes(goal, runs_in(self.log)))
        return parts

    async def _go(self, workspace: Workspace, state: SkillStateEntry, to: str, why: str) -> None:
        data: dict[str, object] = {}
        goal = goal_on(self.log) if state.phase == "baseline" else None
        if goal is not None:
            data["baseline"] = {row.command: row.now for row in self._checks.compared(goal, runs_in(self.log))}
        if (state.skill, state.phase) == ("execute-and-verify", "work"):
            data["dropped"] = [one.content for one in self._plan.todo.now.tasks if one.status == "abandoned"]
        await self.noted(workspace, state, to, why, data)
        self.log.append(SkillStateEntry("", "", "", to) if to == "done" else replace(state, phase=to, note=why))

    def _active(self) -> SkillStateEntry:
        state = state_on(self.log)
        if state is None:
            raise WorkflowError("no workflow is active: begin one with `start`")
        return state

    # -- what the user decides ---------------------------------------------------------------------------

    async def _confirmed(self, workspace: Workspace, call: ToolCall, title: str, spec: str) -> Result:
        state = self._active()
        own, asked = f"work-{new_entry_id(())}", "Accept this specification?"
        choice = Choice(own, asked, _CONFIRM, spec, alike=True, call_id=call.id)
        decided = await self._ports.editor.decide(choice)
        match decided.option:
            case "accept":
                await self._go(workspace, state, "done", "accepted")
                return self._said(call, title, f"The user accepts it: `.north/work/{state.slug}/spec.md`.")
            case "stop":
                await self.stop(workspace, decided.comment or "the user stopped it")
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
        workflow, folder = WORKFLOWS[state.skill], WorkFolder(workspace)
        document = next((one for one in workflow.documents if one == wanted.document), None)
        if document is None:
            told = ", ".join(workflow.documents) or "none"
            raise WorkflowError(f"{workflow.name} has no document {wanted.document[:40]!r}; it has: {told}")
        _CHECKS[document](wanted.content)
        files = {FILES[document]: wanted.content}
        if document == "plan":
            files["plan.md"] = plan_markdown(*steps_in(wanted.content))
            await self._plan.write(workspace, call, title, files["plan.md"])
        await anyio.to_thread.run_sync(_put, folder, state.slug, files)
        return self._said(call, title, f"Written: `.north/work/{state.slug}/{FILES[document]}`.")


_CHECKS: Mapping[str, Callable[[str], object]] = {
    "unknowns": unknowns_in,
    "spec": check_spec,
    "plan": steps_in,
    "packages": packages_in,
}


def _documents(folder: WorkFolder, slug: str) -> Documents:
    return {name: text for name, file in FILES.items() if (text := folder.read(slug, file)) is not None}


def _put(folder: WorkFolder, slug: str, files: Mapping[str, str]) -> None:
    """Write documents. Raises ToolError, also where the folder can only be looked at."""
    folder.state(slug)
    for name, text in files.items():
        folder.put(slug, name, text)
