"""What is done before a turn: settings that have changed are adopted, what a killed process left is recovered, and
rules and context files are read."""

from __future__ import annotations

import anyio
import anyio.to_thread

from north_lsp.agent.edits.recovery import finish_interrupted, interrupted_edits, recover_project
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.servers.session_servers import SessionServers
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.services.settings import SessionSettings
from north_lsp.agent.session.services.shell import SessionShell
from north_lsp.agent.session.turns.delivery import PromptDelivery
from north_lsp.storage.janitor import clear_project


class Preparation:
    """Prepares a session for its next turn. What the model must know of that goes along with the next prompt
    (`delivery`)."""

    def __init__(
        self,
        settings: SessionSettings,
        stored: Stored,
        shell: SessionShell,
        choice: ModelChoice,
        delivery: PromptDelivery,
        servers: SessionServers,
        ports: Ports,
    ) -> None:
        self._settings = settings
        self._checkpoints = stored.checkpoints
        self._context = stored.context
        self._shell = shell
        self._choice = choice
        self._delivery = delivery
        self._servers = servers
        self._ports = ports
        self._recovering = anyio.Lock()
        self._recovered = False

    async def prepare(self) -> None:
        """Do what must be done before each turn. What fails of it ends no turn."""
        await self._settings.adopt()
        await self._settings.look_at_state()
        with self._ports.diagnostics.guarded("recovering what was interrupted"):
            await self.recover()
        with self._ports.diagnostics.guarded("looking for models"):
            await self._choice.look_after()
        with self._ports.diagnostics.guarded("waiting for MCP servers"):
            await self._servers.settle()
        for notice in await self._context.load():
            await self._ports.show(notice)
        self._delivery.news += [f"[{line}]" for line in self._shell.take_news()]

    async def recover(self) -> None:
        """Undo, once per session, what a killed process left half written in this project, and tell the user."""
        async with self._recovering:
            if self._recovered:
                return
            workspace = self._settings.workspace
            told = await recover_project(self._checkpoints.journals, workspace, self._ports.editor)
            self._delivery.news += await anyio.to_thread.run_sync(interrupted_edits, self._checkpoints)
            await finish_interrupted(self._checkpoints, workspace)
            told += await self._shell.find_detached()
            await anyio.to_thread.run_sync(clear_project, workspace.roots.main)
            self._recovered = True
        for text in told:
            await self._ports.show(Notice("warning", text))
