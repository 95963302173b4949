"""What the model of one conversation is told besides the conversation itself: the system text, read again for each
turn, and what is told when it becomes of interest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.context.editor import editor_text
from north_lsp.agent.context.environment_facts import branch_of, environment_text, has_changes
from north_lsp.agent.context.goal_news import concerns_goal, news_of_goal
from north_lsp.agent.context.memory import memory_text, with_memory
from north_lsp.agent.context.own_prompt import model_hint
from north_lsp.agent.context.profile import with_profile
from north_lsp.agent.context.project import ProjectContext, load_project
from north_lsp.agent.context.rules import Rule
from north_lsp.agent.context.system_prompt import (
    Section,
    joined,
    rules_left_out,
    servers_section,
    system_sections,
)
from north_lsp.agent.context.telling import (
    attached_files,
    bears_news,
    context_block,
    rule_text,
    rules_for,
    told_before,
    touched_files,
)
from north_lsp.agent.context.todo_news import news_of_edits, news_of_todo
from north_lsp.agent.log.context import shortens, unpruned_context_of
from north_lsp.agent.log.editor_state import EditorState
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import News, PromptEntry, PromptPart
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.events import Notice
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import Message, ToolSpec
from north_lsp.providers.model import Model
from north_lsp.storage.entries import now_ms
from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import Settings
from north_lsp.storage.switches import is_on
from north_lsp.storage.trust import Trust
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.agent.context.report import Report


class ConversationContext:
    """Builds what the model of one conversation is told besides the conversation itself: the system text and the news.
    `skills` lists what a model can look up, `more_rules` returns what else is told with files, `more_news` once what
    else must be told, `servers` what MCP servers say about using them; a session sets them."""

    def __init__(
        self,
        log: Log,
        trust: Trust,
        locations: Locations,
        environ: Mapping[str, str],
        settings: Callable[[], Settings],
        workspace: Workspace,
        diagnostics: Diagnostics,
    ) -> None:
        self._log = log
        self._trust = trust
        self._locations = locations
        self._environ = environ
        self._settings = settings
        self._workspace = workspace
        self._diagnostics = diagnostics
        self.project = ProjectContext()
        self.skills: Callable[[], Awaitable[str]] | None = None
        self.more_rules: Callable[[Sequence[Path]], Sequence[News]] = lambda paths: ()
        self.more_news: Callable[[], Sequence[str]] = tuple
        self.servers: Callable[[], Sequence[tuple[str, str]]] = tuple
        self._skills = ""
        self._environment = ""
        self._is_loaded = False
        self._told: dict[str, str] = {}
        self._followed = 0
        self._told_of: list[str] = []

    async def load(self) -> list[Notice]:
        """Read what is there now, for a turn that begins. Returns what the user has not been told of it."""
        with self._diagnostics.guarded("reading rules and context files"):
            await anyio.to_thread.run_sync(self._load)
        with self._diagnostics.guarded("reading the skills"):
            self._skills = await self.skills() if self.skills is not None else ""
        problems = self._problems(self.project)
        new = [problem for problem in problems if problem not in self._told_of]
        self._told_of = problems
        if not new:
            return []
        more = f" (and {len(new) - 1} more: `/context` lists them)" if len(new) > 1 else ""
        return [Notice("warning", f"{visible(new[0])}{more}")]

    def _load(self) -> None:
        self._is_loaded = True
        path = self._log.path()
        self._told, self._followed = dict(told_before(path)), len(path)
        self.project = self._read_project()

    def _read_project(self) -> ProjectContext:
        decided = self._trust.decided()
        home = systems.home(self._environ)
        trusted, settings = decided[0] if decided is not None else None, self._settings().context
        disabled = (*settings.disabled_rules, *settings.disabled_items)
        project = load_project(self._workspace, self._locations, home, disabled, trusted)
        if trusted is False:
            return project
        root = self._workspace.roots.main
        return with_memory(with_profile(project, self._locations, root), self._locations, root, self._settings().memory)

    def _problems(self, project: ProjectContext) -> list[str]:
        """Say what is wrong with the files that were read, a line each."""
        left_out = rules_left_out(project, self._settings().context.max_rule_bytes)
        return [*project.all_problems, *([left_out] if left_out is not None else [])]

    @property
    def _started(self) -> date:
        try:
            return datetime.fromisoformat(self._log.header.at).astimezone().date()
        except ValueError:
            return date.today()

    @property
    def _editor(self) -> str:
        return self._log.header.client

    # -- the system text ---------------------------------------------------------------------------------------------

    async def sections(self, model: Model) -> list[Section]:
        """Return the parts of the system text, as of the last `load`; none with `NORTH_NULL_PROMPT=1`."""
        if not self._is_loaded:
            await anyio.to_thread.run_sync(self._load)
        return await self._sections(model, self.project)

    async def _sections(self, model: Model, project: ProjectContext) -> list[Section]:
        if is_on(self._environ, "NORTH_NULL_PROMPT"):
            return []
        if not self._environment:
            self._environment = await anyio.to_thread.run_sync(self._machine)
        hint = await anyio.to_thread.run_sync(model_hint, self._locations, model.provider.id, model.id)
        sections = system_sections(self._environment, project, hint, self._settings().context.max_rule_bytes)
        skills = Section("skills", "Skills", "SKILL.md files", self._skills)
        learned = (("profile", "Project profile", project.profile), ("memory", "Memory", project.memory))
        told = [Section(id, title, one.shown, one.text) for id, title, one in learned if one is not None]
        servers = servers_section(self.servers())
        return [*sections, *([skills] if self._skills else []), *told, *([servers] if servers is not None else [])]

    def _machine(self) -> str:
        """Describe the machine and the project. Looks at the disk."""
        shell = self._environ.get("SHELL", "")
        if not systems.CAN_KEEP_SHELLS:
            from north_lsp.agent.shell.setup import find_shell

            found = find_shell(self._settings().shell.path, self._environ)
            shell = "none was found" if found is None else f"{found.words}, a fresh one for each command"
        return environment_text(self._workspace.roots.roots, self._started, shell, self._editor)

    async def system(self, model: Model) -> str:
        """Return the system text, the same as before if nothing has changed that it is made of."""
        return joined(await self.sections(model))

    async def report(
        self, model: Model, specs: Sequence[ToolSpec], messages: Sequence[Message], servers: Mapping[str, str]
    ) -> Report:
        """Add up what the next request to a model has, from what is in the files now; `servers` says of tools which
        server has them."""
        from north_lsp.agent.context.report import Report, context_items, context_parts  # not needed for a turn

        project = await anyio.to_thread.run_sync(self._read_project)
        entries = unpruned_context_of(self._log.path())
        parts = context_parts(await self._sections(model, project), specs, messages, entries, servers, model)
        window = model.window if model.window_known else None
        return Report(parts, context_items(project), self._problems(project), window, project.note)

    def known_rules(self) -> list[Rule]:
        """Return the rules that apply, by name. To be called in a thread."""
        project = self.project if self._is_loaded else self._read_project()
        return sorted((rule for rule in project.rules if rule.applies), key=lambda rule: rule.name)

    def rule_text(self, name: str) -> str:
        """Return a rule's text by its name. Raises ToolError NOT_FOUND naming the rules that there are."""
        return rule_text(self.project, name)

    def memory_text(self, address: str) -> str:
        """Return what was remembered of the project, by address. Raises ToolError."""
        if self._trust.is_distrusted():
            raise ToolError("UNAVAILABLE", "memory is disabled: this workspace is not trusted", "continue without it")
        return memory_text(address, self._locations, self._workspace.roots.main, self._settings().memory)

    # -- what is told once -------------------------------------------------------------------------------------------

    async def news(self, content: Sequence[PromptPart], state: EditorState | None = None) -> list[News]:
        """Return what must be told with a prompt: rules for what it has attached and for the active file, what the
        editor shows, the branch, and the day, each if it is not known."""
        with self._diagnostics.guarded("reading the rules and the editor's state"):
            return await self._news(content, state)
        return []

    async def _news(self, content: Sequence[PromptPart], state: EditorState | None) -> list[News]:
        news = await anyio.to_thread.run_sync(self._facts)
        paths = attached_files(content)
        if state is not None and self._settings().context.editor_state:
            text, active = await editor_text(state, self._workspace)
            paths += [active] if active is not None else []
            news += self._changed("editor", context_block(text)) if text else []
        news += news_of_todo(self._log.path(), self._log.opened_at, self._log.about_todo())
        news += news_of_goal(self._log.those(concerns_goal))
        news += map(News, self.more_news())
        return [*await self._rules_for(paths), *news]

    async def follow(self) -> None:
        """Tell of the rules for the files that calls have touched since, as part of the conversation."""
        path = self._log.path()
        paths = touched_files(path[self._followed :])
        self._followed = len(path)
        news: list[News] = []
        with self._diagnostics.guarded("reading the rules for files"):
            if paths:
                news_of_path = self._log.those(bears_news)
                # The conversation may have been summarized meanwhile.
                self._told = dict(told_before(path if any(map(shortens, news_of_path)) else news_of_path))
            news = await self._rules_for(paths)
        news += news_of_edits(self._log.about_todo(), self._log.opened_at)
        news += news_of_goal(self._log.those(concerns_goal))
        news += map(News, self.more_news())
        if news:
            self._log.append(PromptEntry(Content(tuple(news)), by_north=True, at_ms=now_ms()))
            self._followed += 1

    async def _rules_for(self, paths: Sequence[Path]) -> list[News]:
        if not paths:
            return []
        news = await anyio.to_thread.run_sync(partial(rules_for, list(paths), self.project, self._told))
        news += [one for one in self.more_rules(paths) if one.about not in self._told]
        self._told |= {one.about: one.text for one in news}
        return news

    def _facts(self) -> list[News]:
        root, today = self._workspace.roots.main, date.today()
        branch = branch_of(root)
        news: list[News] = []
        if branch is not None and not self._told.get("git", "").startswith(_on(branch)):
            ends = {True: ", with changes that are not committed", False: ", with nothing to commit", None: ""}
            news += self._changed("git", f"{_on(branch)}{ends[has_changes(root)]}]")
        if today != self._started or "date" in self._told:
            news += self._changed("date", f"[Today is {today.isoformat()}]")
        return news

    def _changed(self, about: str, text: str) -> list[News]:
        if self._told.get(about) == text:
            return []
        self._told[about] = text
        return [News(text, about)]


def _on(branch: str) -> str:
    return f"[The git branch is {branch}"
