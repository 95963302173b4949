"""What models are told and offered besides the conversation: the system text and the tools."""

from datetime import date, datetime
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.calls.tool_search import offered_tools
from north_lsp.agent.log.log import Log
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.session.environment import Environment
from north_lsp.agent.session.settings import SessionSettings
from north_lsp.agent.turn.context import system_text
from north_lsp.providers.model import Model
from north_lsp.vocabulary import Mode

if TYPE_CHECKING:
    from north_lsp.agent.exports.document import Surroundings
    from north_lsp.tools.registry import Registry


class ModelSurroundings:
    """Those of one session's models."""

    def __init__(self, log: Log, environment: Environment, settings: SessionSettings, choice: ModelChoice) -> None:
        self._log = log
        self._environment = environment
        self._settings = settings
        self._choice = choice

    async def tools(self) -> "Registry":
        """Return the tools that the model may be offered."""
        load, workspace = self._environment.load_tools, self._settings.workspace
        shown = ("edit_patch",) if self._choice.model.wants_patches else ()
        if workspace.language is not None:
            shown += ("lsp", "edit_rename_symbol", "edit_format_file")
        return await anyio.to_thread.run_sync(lambda: offered_tools(load().offering(*shown), workspace, self._log))

    async def context(self, model: Model, mode: Mode) -> TurnContext:
        """Return what holds for a turn that begins now."""
        workspace, settings = self._settings.workspace, self._environment.settings
        return TurnContext(model, self._system(), mode, await self.tools(), workspace, settings)

    async def exported(self, mode: Mode) -> "Surroundings":
        """Return them for an export."""
        from north_lsp.agent.exports.document import Surroundings

        return Surroundings(self._system(), (await self.tools()).specs(mode))

    def _system(self) -> str:
        try:
            started = datetime.fromisoformat(str(self._log.conversation.header.get("timestamp"))).date()
        except ValueError:
            started = date.today()
        return system_text(self._settings.workspace.roots.roots, started)
