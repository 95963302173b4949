"""What models are told and offered besides the conversation: the system text and the tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.calls.tool_search import ToolSearch
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.turn_context import TurnContext, TurnRules
from north_lsp.agent.secrets.notice import state_of
from north_lsp.agent.servers.session_servers import SessionServers
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.services.settings import SessionSettings
from north_lsp.agent.turn.history import History
from north_lsp.agent.web.offered import offered_of_web
from north_lsp.providers.model import Model
from north_lsp.vocabulary import Mode
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.agent.context.report import Report
    from north_lsp.agent.exports.document import Surroundings
    from north_lsp.tools.base import Tool
    from north_lsp.tools.registry import Registry


class ModelSurroundings:
    """Puts together what the models of one session are told and offered."""

    def __init__(
        self,
        stored: Stored,
        environment: Environment,
        settings: SessionSettings,
        choice: ModelChoice,
        servers: SessionServers,
    ) -> None:
        self._log, self._told, self._secrets = stored.log, stored.context, stored.secrets
        self._environment = environment
        self._settings = settings
        self._choice = choice
        self._servers = servers
        self._search = ToolSearch(stored.log)
        self._more: list[Callable[[], Sequence[Tool]]] = []

    def offer(self, more: Callable[[], Sequence[Tool]]) -> None:
        """Offer also these tools, which are made for each turn, on a thread."""
        self._more.append(more)

    async def tools(self) -> Registry:
        """Return the tools that the model may be offered."""
        load, workspace = self._environment.process.load_tools, self._settings.workspace
        shown: tuple[str, ...] = ("edit_patch",) if self._choice.model.wants_patches else ()
        if self._environment.settings.memory.enabled:
            shown += ("remember",)
        if workspace.language is not None:
            shown += ("lsp", "edit_rename_symbol", "edit_format_file")

        settings = self._environment.settings
        gone: tuple[str, ...] = () if settings.planning.todo_enabled else ("todo",)

        def offered() -> Registry:
            every = self._all(load, shown, gone).joined([tool for more in self._more for tool in more()])
            return self._search.offered(every, workspace.settings.reading.discovery_threshold)

        return await anyio.to_thread.run_sync(offered)

    async def for_agents(self) -> Registry:
        """Return the tools that agents may be given."""
        load = self._environment.process.load_tools
        shown = ("lsp", "edit_rename_symbol", "edit_format_file") if self.workspace.language is not None else ()
        return await anyio.to_thread.run_sync(self._all, load, shown, ("todo",))

    def _all(self, load: Callable[[], Registry], shown: Sequence[str], gone: Sequence[str]) -> Registry:
        searches, without = offered_of_web(
            self._environment.environ, self._environment.models, self._environment.settings
        )
        own = load().offering(*shown, *searches).without(*gone, *without)
        return own.joined(self._servers.tools([tool.name for tool in own.tools()]))

    @property
    def workspace(self) -> Workspace:
        return self._settings.workspace

    async def context(self, model: Model, mode: Mode) -> TurnContext:
        """Return what holds for a turn that begins now."""
        workspace, settings = self._settings.workspace, self._environment.settings
        system, tools = await self._told.system(model), await self.tools()
        from north_lsp.agent.planning.workflow_hold import hold_on

        hold = partial(hold_on, self._log, workspace.roots.main)
        rules = TurnRules(self._told.follow, self._told.project.stream_rules, hold)
        return TurnContext(model, system, mode, tools, workspace, settings, rules)

    async def report(self, mode: Mode, history: History) -> Report:
        """Add up what the next request has."""
        model, tools = self._choice.model, await self.tools()
        from north_lsp.agent.servers.tool import ServerTool

        servers = {one.name: one.server for one in tools.tools() if isinstance(one, ServerTool)}
        report = await self._told.report(model, tools.specs(mode), history.messages(model), servers)
        return replace(report, secrets=state_of(self._secrets.count, is_on=self._secrets.is_on))

    async def exported(self, mode: Mode) -> Surroundings:
        """Return what the model is told and offered, for an export."""
        from north_lsp.agent.exports.document import Surroundings

        return Surroundings(await self._told.system(self._choice.model), (await self.tools()).specs(mode))
