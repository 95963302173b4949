"""Where a conversation is in a workflow, and how one begins, is taken up and ends."""

from typing import Any

import anyio.to_thread

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.work_folder import WorkFolder
from north_lsp.storage.entries import timestamp
from north_lsp.tools.workflows import ENDED, WORKFLOWS, Workflow, WorkflowError, slug_of, workflow_called
from north_lsp.workspace.workspace import Workspace


class WorkflowCourse:
    """That of one conversation, in which one workflow is active at most."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def described(self) -> str:
        """Say where the workflow is, in Markdown."""
        state = state_on(self.log)
        if state is None:
            return "No workflow is active."
        steps = ", ".join(WORKFLOWS[state.skill].phases.get(state.phase, ())) or "none: it has ended"
        return f"**{state.skill}**, phase **{state.phase}**, in `.north/work/{state.slug}`. Next: {steps}."

    def ensure_none(self) -> None:
        state = state_on(self.log)
        if state is not None:
            raise WorkflowError(f"{state.skill} is active already (phase {state.phase}): end it first")

    async def begin(self, workspace: Workspace, workflow: Workflow, title: str) -> str:
        """Begin a workflow; returns the name of its folder. Raises WorkflowError, ToolError."""
        self.ensure_none()
        folder, id = WorkFolder(workspace), self.log.conversation.id
        taken = await anyio.to_thread.run_sync(folder.slugs)
        slug = title if title in taken else slug_of(title or workflow.name, taken)
        state: dict[str, Any] = {"version": 1, "slug": slug, "title": title or workflow.name}
        if slug in taken:  # it goes on with what an earlier workflow left there
            state = await anyio.to_thread.run_sync(folder.state, slug)
        before = [one for one in _conversations(state) if one != id]
        row = {"at": timestamp(), "from": state.get("phase", ""), "to": workflow.first, "why": f"{workflow.name} began"}
        state |= {"workflow": workflow.name, "phase": workflow.first, "conversations": [*before, id]}
        state |= {"history": [*state.get("history", []), row], "data": state.get("data", {})}
        await anyio.to_thread.run_sync(folder.begin, slug, state)
        self.log.append(SkillStateEntry(workflow.name, workflow.first, slug))
        return slug

    async def resume(self, workspace: Workspace, slug: str) -> str:
        """Go on with a workflow of the project in this conversation; returns where it is. Raises WorkflowError,
        ToolError."""
        self.ensure_none()
        folder = WorkFolder(workspace)
        state = await anyio.to_thread.run_sync(folder.state, slug)
        workflow = workflow_called(str(state.get("workflow", "")))
        phase = str(state.get("phase", ""))
        if phase not in workflow.phases:
            raise WorkflowError(f"{slug} has ended (phase {phase or 'unknown'})")
        here = self.log.conversation.id
        before = [one for one in _conversations(state) if one != here]
        await anyio.to_thread.run_sync(folder.put_state, slug, {**state, "conversations": [*before, here]})
        self.log.append(SkillStateEntry(workflow.name, phase, slug, "resumed"))
        return self.described()

    async def stop(self, workspace: Workspace, phase: str, why: str) -> None:
        """End the workflow; what its folder has stays. Raises WorkflowError, ToolError."""
        state = state_on(self.log)
        if state is None:
            raise WorkflowError("no workflow is active")
        self.log.append(SkillStateEntry("", "", "", why))  # the hold ends whatever the disk says
        await self.noted(workspace, state, phase, why)

    async def noted(self, workspace: Workspace, state: SkillStateEntry, to: str, why: str) -> None:
        folder = WorkFolder(workspace)

        def note() -> None:
            known = folder.state(state.slug)
            row = {"at": timestamp(), "from": state.phase, "to": to, "why": why}
            folder.put_state(state.slug, {**known, "phase": to, "history": [*known.get("history", []), row]})

        await anyio.to_thread.run_sync(note)


def state_on(log: Log) -> SkillStateEntry | None:
    """Return the workflow that is active at the end of the path."""
    found = log.those(_is_state)
    last = found[-1].entry if found else None
    if not isinstance(last, SkillStateEntry) or last.skill not in WORKFLOWS or last.phase in ENDED[:2]:
        return None
    return last


def _conversations(state: dict[str, Any]) -> list[str]:
    found = state.get("conversations")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _is_state(one: Logged) -> bool:
    return isinstance(one.entry, SkillStateEntry)
