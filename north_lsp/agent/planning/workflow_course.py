"""Where a conversation is in a workflow, and how one begins, is taken up and ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio.to_thread

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.work_folder import WorkFolder
from north_lsp.storage.entries import timestamp
from north_lsp.tools.workflows import ENDED, WORKFLOWS, Option, Workflow, WorkflowError, slug_of, workflow_called
from north_lsp.workspace.workspace import Workspace


class WorkflowCourse:
    """Begins, resumes and ends the workflow of one conversation, in which at most one is active."""

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
        """Raise WorkflowError if a workflow is active."""
        state = state_on(self.log)
        if state is not None:
            raise WorkflowError(f"{state.skill} is active already (phase {state.phase}): end it first")

    async def begin(
        self, workspace: Workspace, workflow: Workflow, title: str, options: Sequence[Option] = ()
    ) -> SkillStateEntry:
        """Begin a workflow; returns where it is. Raises WorkflowError, ToolError."""
        self.ensure_none()
        folder, id = WorkFolder(workspace), self.log.conversation.id
        taken = await anyio.to_thread.run_sync(folder.slugs)
        slug = title if title in taken else slug_of(title or workflow.name, taken)
        if workflow.name == "clarify" and await anyio.to_thread.run_sync(is_new_project, workspace):
            options = (*options, "research")
        chosen = tuple(sorted({*options}))
        state: dict[str, Any] = {"version": 1, "slug": slug, "title": title or workflow.name}
        if slug in taken:  # it continues with what an earlier workflow left there
            state = await anyio.to_thread.run_sync(folder.state, slug)
        before = [one for one in _conversations(state) if one != id]
        row = {"at": timestamp(), "from": state.get("phase", ""), "to": workflow.first, "why": f"{workflow.name} began"}
        state |= {"workflow": workflow.name, "phase": workflow.first, "conversations": [*before, id]}
        state |= {"history": [*state.get("history", []), row], "data": {**_data(state), "options": [*chosen]}}
        await anyio.to_thread.run_sync(folder.begin, slug, state)
        entry = SkillStateEntry(workflow.name, workflow.first, slug, options=chosen)
        self.log.append(entry)
        return entry

    async def resume(self, workspace: Workspace, slug: str) -> str:
        """Take up a workflow of the project in this conversation; returns where it is. Raises WorkflowError,
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
        options = tuple(_texts(_data(state).get("options")))
        self.log.append(SkillStateEntry(workflow.name, phase, slug, "resumed", options))
        return self.described()

    async def stop(self, workspace: Workspace, why: str) -> None:
        """End the workflow before it is done; what its folder has stays. Raises WorkflowError, ToolError."""
        state = state_on(self.log)
        if state is None:
            raise WorkflowError("no workflow is active")
        self.log.append(SkillStateEntry("", "", "", why))  # the hold ends whatever the disk says
        await self.noted(workspace, state, "abandoned", why)

    async def noted(
        self, workspace: Workspace, state: SkillStateEntry, to: str, why: str, data: Mapping[str, object] | None = None
    ) -> None:
        """Write a change of phase to the workflow's folder, with more `data` if there is any. Raises ToolError."""
        folder = WorkFolder(workspace)

        def note() -> None:
            known = folder.state(state.slug)
            row = {"at": timestamp(), "from": state.phase, "to": to, "why": why}
            kept = {"data": {**_data(known), **data}} if data else {}
            folder.put_state(state.slug, {**known, "phase": to, "history": [*known.get("history", []), row], **kept})

        await anyio.to_thread.run_sync(note)


def state_on(log: Log) -> SkillStateEntry | None:
    """Return the workflow that is active at the end of the path."""
    found = log.those(_is_state)
    last = found[-1].entry if found else None
    if not isinstance(last, SkillStateEntry) or not last.slug or last.skill not in WORKFLOWS:
        return None
    return None if last.phase in ENDED[:2] else last


def skill_on(log: Log) -> SkillStateEntry | None:
    """Return the skill that is active at the end of the path; None for none, and while a workflow is."""
    found = log.those(_is_state)
    last = found[-1].entry if found else None
    return last if isinstance(last, SkillStateEntry) and last.skill and not last.slug else None


def since_phase(log: Log, phase: str = "") -> Sequence[Logged]:
    """Return what came after the last change of phase, or after the last change to a certain one; everything if there
    was none."""
    path = log.path()
    changes = [at for at, one in enumerate(path) if _is_state(one) and phase in ("", _phase(one))]
    return path[changes[-1] + 1 :] if changes else path


def is_new_project(workspace: Workspace) -> bool:
    """Tell whether a project has nothing yet but what says what it is to be. Blocks."""
    names = [one.name.casefold() for one in workspace.roots.main.iterdir() if not one.name.startswith(".")]
    return all(name.startswith(("readme", "license", "agents.md")) for name in names)


def _phase(one: Logged) -> str:
    return one.entry.phase if isinstance(one.entry, SkillStateEntry) else ""


def _conversations(state: Mapping[str, Any]) -> list[str]:
    return _texts(state.get("conversations"))


def _texts(stored: object) -> list[str]:
    return [one for one in stored if isinstance(one, str)] if isinstance(stored, list) else []


def _data(state: Mapping[str, Any]) -> dict[str, Any]:
    data = state.get("data")
    return data if isinstance(data, dict) else {}


def _is_state(one: Logged) -> bool:
    return isinstance(one.entry, SkillStateEntry)
