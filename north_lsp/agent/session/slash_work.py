"""The slash commands about the goal and workflows, as far as they need a session."""

from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.slash.base import CommandError

if TYPE_CHECKING:
    from north_lsp.agent.planning.work_folder import WorkFolder
    from north_lsp.agent.session.live import LiveSession

_AUTO, _RESEARCH = "--auto", "--research"


class WorkHost:
    """The part of a slash command's `Host` that is about goals and workflows. Every method may raise CommandError."""

    def __init__(self, session: "LiveSession", log: Log) -> None:
        self._working = session
        self._work_log = log

    def goal(self) -> str:
        return self._working.goal_and_work.document

    async def set_goal(self, text: str) -> None:
        try:
            await self._working.goal_and_work.edit(text)
        except ValueError as error:
            raise CommandError(f"{visible(str(error))}. The goal is as it was.") from None

    async def confirm_criterion(self, id: str) -> None:
        try:
            await self._working.goal_and_work.confirm(id)
        except ValueError as error:
            raise CommandError(visible(str(error))) from None

    def continued_work(self) -> str:
        now = self._working.goal_and_work.now
        if now.workflow is not None:
            return "Continue the workflow where it is: look at it with the tool `workflow` first."
        if now.goal is not None:
            return "Continue with the goal of this conversation: look at it with the tool `goal` first."
        raise CommandError("there is neither a goal nor a workflow in this conversation")

    async def work(self) -> str:
        from north_lsp.agent.planning.work_folder import WorkFolder
        from north_lsp.agent.planning.workflow_course import WorkflowCourse

        folder = WorkFolder(self._working.workspace)
        slugs = await anyio.to_thread.run_sync(folder.slugs)
        rows = [await anyio.to_thread.run_sync(_row, folder, slug) for slug in slugs]
        known = "\n".join(row for row in rows if row)
        return f"{WorkflowCourse(self._work_log).described()}" + (f"\n\n{known}" if known else "")

    async def begin_work(self, name: str, words: str) -> str:
        from north_lsp.agent.planning.workflow_course import WorkflowCourse
        from north_lsp.agent.prompts import render
        from north_lsp.tools.workflows import WorkflowError, workflow_called

        self._ensure_writable()
        options = [word for word in words.split() if word in (_AUTO, _RESEARCH)]
        title = " ".join(word for word in words.split() if word not in options)
        if not title:
            raise CommandError("say what it is about: `/work start clarify a login page`")
        try:
            workflow = workflow_called(name)
            slug = await WorkflowCourse(self._work_log).begin(self._working.workspace, workflow, title)
            await self._working.goal_and_work.tell()
        except (WorkflowError, ToolError) as error:
            raise CommandError(visible(str(error))) from None
        given = {"auto": "x" if _AUTO in options else "", "research": "x" if _RESEARCH in options else ""}
        return render("work_begins", workflow=workflow.name, title=title, slug=slug, phase=workflow.first, **given)

    async def resume_work(self, slug: str) -> str:
        from north_lsp.agent.planning.workflow_course import WorkflowCourse
        from north_lsp.tools.workflows import WorkflowError

        self._ensure_writable()
        try:
            where = await WorkflowCourse(self._work_log).resume(self._working.workspace, slug)
            await self._working.goal_and_work.tell()
            return where
        except (WorkflowError, ToolError) as error:
            raise CommandError(visible(str(error))) from None

    async def stop_work(self) -> None:
        from north_lsp.agent.planning.workflow_course import WorkflowCourse
        from north_lsp.tools.workflows import WorkflowError

        self._ensure_writable()
        try:
            await WorkflowCourse(self._work_log).stop(self._working.workspace, "abandoned", "the user stopped it")
            await self._working.goal_and_work.tell()
        except (WorkflowError, ToolError) as error:
            raise CommandError(visible(str(error))) from None

    async def archive_work(self, slug: str) -> None:
        from north_lsp.agent.planning.work_folder import WorkFolder

        folder = WorkFolder(self._working.workspace)
        try:
            state = await anyio.to_thread.run_sync(folder.state, slug)
            await anyio.to_thread.run_sync(folder.put_state, slug, {**state, "archived": True})
        except ToolError as error:
            raise CommandError(visible(str(error))) from None

    def _ensure_writable(self) -> None:
        if (reason := self._working.read_only_reason) is not None:
            raise CommandError(f"this conversation cannot be changed: {visible(reason)}")


def _row(folder: "WorkFolder", slug: str) -> str:
    """Describe a workflow of the project; nothing for one that is archived."""
    try:
        state = folder.state(slug)
    except ToolError as error:
        return f"- `{slug}`: {visible(str(error))}"
    if state.get("archived") is True:
        return ""
    words = (one_line(str(state.get(key, "")), 80) for key in ("workflow", "phase", "title"))
    name, phase, title = map(visible, words)
    return f"- `{slug}`: {name}, {phase}. {title}"
