"""The slash commands about the goal and workflows, as far as they need a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.slash.base import CommandError

if TYPE_CHECKING:
    from north_lsp.agent.planning.work_folder import WorkFolder
    from north_lsp.agent.planning.workflow_course import WorkflowCourse
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.tools.workflows import Option

_OPTIONS: Mapping[str, Option] = {"--auto": "auto", "--research": "research"}


class WorkHost:
    """The part of a slash command's `Host` that is about goals and workflows. Every method may raise CommandError."""

    def __init__(self, session: LiveSession, log: Log) -> None:
        self._working = session
        self._work_log = log

    def goal(self) -> str:
        return self._working.goal_and_work.document

    async def set_goal(self, text: str) -> str:
        try:
            return visible("; ".join(await self._working.goal_and_work.edit(text)))
        except ValueError as error:
            raise CommandError(f"{visible(str(error))}. The goal is unchanged.") from None

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

        folder = WorkFolder(self._working.workspace)
        slugs = await anyio.to_thread.run_sync(folder.slugs)
        rows = [await anyio.to_thread.run_sync(_row, folder, slug) for slug in slugs]
        known = "\n".join(row for row in rows if row)
        return _course(self._work_log).described() + (f"\n\n{known}" if known else "")

    async def begin_work(self, name: str, words: str) -> str:
        from north_lsp.agent.prompts import render
        from north_lsp.tools.workflows import workflow_called

        options = [_OPTIONS[word] for word in words.split() if word in _OPTIONS]
        title = " ".join(word for word in words.split() if word not in _OPTIONS)
        if not title:
            raise CommandError("say what it is about: `/work start clarify a login page`")
        with self._changing():
            workflow = workflow_called(name)
            begun = await _course(self._work_log).begin(self._working.workspace, workflow, title, options)
        await self._working.goal_and_work.tell()
        given = {option: "x" if option in begun.options else "" for option in _OPTIONS.values()}
        return render("work_begins", workflow=workflow.name, title=title, slug=begun.slug, phase=begun.phase, **given)

    async def resume_work(self, slug: str) -> str:
        with self._changing():
            where = await _course(self._work_log).resume(self._working.workspace, slug)
        await self._working.goal_and_work.tell()
        return where

    async def stop_work(self) -> None:
        with self._changing():
            await _course(self._work_log).stop(self._working.workspace, "the user stopped it")
        await self._working.goal_and_work.tell()

    def active_skill(self) -> str:
        from north_lsp.agent.planning.workflow_course import skill_on

        state = skill_on(self._work_log)
        if state is None:
            return ""
        note = f": {state.note}" if state.note else ""
        return visible(f"`{state.skill}`" + (f", in the phase `{state.phase}`{note}" if state.phase else ""))

    async def stop_skill(self) -> None:
        from north_lsp.agent.log.workflows import SkillStateEntry

        self._ensure_writable()
        if not self.active_skill():
            raise CommandError("no skill is active")
        self._work_log.append(SkillStateEntry("", note="the user stopped it"))
        await self._working.goal_and_work.tell()

    async def archive_work(self, slug: str) -> None:
        from north_lsp.agent.planning.work_folder import WorkFolder

        folder = WorkFolder(self._working.workspace)
        with _told():
            state = await anyio.to_thread.run_sync(folder.state, slug)
            await anyio.to_thread.run_sync(folder.put_state, slug, {**state, "archived": True})

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Change the workflow of this conversation."""
        self._ensure_writable()
        with _told():
            yield

    def _ensure_writable(self) -> None:
        if (reason := self._working.read_only_reason) is not None:
            raise CommandError(f"this conversation cannot be changed: {visible(reason)}")


def _course(log: Log) -> WorkflowCourse:
    from north_lsp.agent.planning.workflow_course import WorkflowCourse

    return WorkflowCourse(log)


@contextmanager
def _told() -> Iterator[None]:
    """Tell the user what is not possible."""
    from north_lsp.tools.workflows import WorkflowError

    try:
        yield
    except (WorkflowError, ToolError) as error:
        raise CommandError(visible(str(error))) from None


def _row(folder: WorkFolder, slug: str) -> str:
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
