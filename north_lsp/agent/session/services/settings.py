"""The settings that a session goes by: those of the settings file, adopted between two turns."""

from __future__ import annotations

import anyio.to_thread

from north_lsp.agent.costs.limits import Spending
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.turn.queue import PromptQueue
from north_lsp.display import visible
from north_lsp.storage.files import private_directory
from north_lsp.storage.settings import Settings, needs_restart
from north_lsp.workspace.workspace import ToolSettings, Workspace


def settings_of_tools(settings: Settings) -> ToolSettings:
    """Return those that tools go by."""
    return ToolSettings(settings.edits, settings.reading, float(settings.shell.timeout_s))


class SessionSettings:
    """The settings of one session. `workspace` holds to them; `queue` and `spending` are told of them."""

    def __init__(
        self, environment: Environment, workspace: Workspace, queue: PromptQueue, spending: Spending, editor: Editor
    ) -> None:
        self.workspace = workspace
        self._environment = environment
        self._queue = queue
        self._spending = spending
        self._editor = editor
        self._adopted = environment.settings
        self._has_looked_at_state = False
        self._set_queue_modes()

    async def adopt(self) -> None:
        """Adopt what the user has changed in the settings file since the last turn, and report problems in it."""
        before, now = self._adopted, self._environment.settings
        if before is not now:
            self._adopted = now
            self._set_queue_modes()
            self._spending.set_limits(now.turns.session_limit_usd, now.turns.day_limit_usd)
            self.workspace = self.workspace.under(settings_of_tools(now))
            if later := needs_restart(before, now):
                text = f"the settings {', '.join(later)} have changed: they take effect when North restarts"
                await self._editor.show(Notice("info", text))
        await self.tell_problems()

    async def tell_problems(self) -> None:
        """Report what is newly wrong in the settings."""
        for problem in self._environment.settings_file.take_problems():
            await self._editor.show(Notice("warning", problem))

    async def look_at_state(self) -> None:
        """Tell the user, once, if North's folder for its state cannot be used."""
        if self._has_looked_at_state:
            return
        self._has_looked_at_state = True
        locations = self._environment.locations
        try:
            await anyio.to_thread.run_sync(private_directory, locations.locks)
        except OSError as error:
            told = (
                f"nothing can be kept in {locations.state} ({error.strerror or error}): there is no log, and costs and "
            )
            told += "permissions cannot be stored; set NORTH_STATE_DIR to another folder"
            await self._editor.show(Notice("warning", visible(told)))

    def _set_queue_modes(self) -> None:
        turns = self._adopted.turns
        self._queue.set_modes(turns.steering_mode, turns.follow_up_mode, turns.interrupt_mode)
