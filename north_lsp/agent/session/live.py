"""A live session, as its slash commands use it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from north_lsp.agent.approvals.session_approvals import SessionApprovals
    from north_lsp.agent.context.report import Report
    from north_lsp.agent.edits.undo import Plan, UndoHistory
    from north_lsp.agent.models.choice import ModelChoice
    from north_lsp.agent.planning.todo import TodoKeeper
    from north_lsp.agent.ports.events import CommandInfo
    from north_lsp.agent.servers.session_servers import SessionServers
    from north_lsp.agent.session.goal_and_work import GoalAndWork
    from north_lsp.agent.session.keeping.exporting import Exports
    from north_lsp.agent.session.keeping.remembering import Remembering
    from north_lsp.agent.session.keeping.saved import SavedConversation
    from north_lsp.agent.session.learning.learning import Learning
    from north_lsp.agent.session.learning.memory import Memory
    from north_lsp.agent.session.navigation.navigation import Navigation
    from north_lsp.agent.session.process.asking import Questions
    from north_lsp.agent.session.tasks.agents import Agents
    from north_lsp.agent.session.turns.compacting import Compacting
    from north_lsp.agent.templates.conversation_templates import ConversationTemplates
    from north_lsp.agent.turn.queue import PromptQueue
    from north_lsp.shell.jobs import Jobs
    from north_lsp.vocabulary import Mode
    from north_lsp.workspace.workspace import Workspace


class LiveSession(Protocol):
    """The part of a `Session` that slash commands use."""

    mode: Mode
    window: str | None
    choice: ModelChoice
    approvals: SessionApprovals
    queue: PromptQueue
    questions: Questions
    servers: SessionServers
    goal_and_work: GoalAndWork

    @property
    def learning(self) -> Learning: ...

    @property
    def agents(self) -> Agents: ...

    @property
    def memory(self) -> Memory: ...

    @property
    def templates(self) -> ConversationTemplates: ...

    @property
    def remembering(self) -> Remembering: ...

    @property
    def exports(self) -> Exports: ...

    @property
    def navigation(self) -> Navigation: ...

    @property
    def compacting(self) -> Compacting: ...

    @property
    def id(self) -> str: ...

    @property
    def saved(self) -> SavedConversation: ...

    @property
    def read_only_reason(self) -> str | None: ...

    @property
    def roots(self) -> tuple[Path, ...]: ...

    @property
    def is_running(self) -> bool: ...

    @property
    def workspace(self) -> Workspace: ...

    @property
    def todo(self) -> TodoKeeper: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def undo_history(self) -> UndoHistory: ...

    async def tell_settings_problems(self) -> None: ...

    async def context_report(self) -> Report: ...

    async def refresh_commands(self) -> tuple[CommandInfo, ...]: ...

    async def move(self, root: Path) -> None: ...

    async def set_mode(self, mode: Mode) -> None: ...

    async def take_back(self, prepare: Callable[[], Awaitable[tuple[Plan, str]]]) -> Plan: ...

    def cancel(self) -> None: ...

    async def quiet(self) -> None: ...
