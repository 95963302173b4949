"""The shell of a session: made from the user's settings when it is first used, and the user's own commands in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.edits.unsaved import unsaved_files
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.services.settings import SessionSettings
from north_lsp.agent.shell.own_command import OwnCommand
from north_lsp.agent.turn.queue import Stopped
from north_lsp.display import one_line, visible
from north_lsp.providers.catalog.catalog import secret_names
from north_lsp.workspace.project_root import project_hash
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.agent.shell.own_commands import OwnCommands
    from north_lsp.agent.shell.setup import ShellResources
    from north_lsp.shell.port import Runner
    from north_lsp.shell.watch import QuarantinedFiles

_ELSEWHERE = "this conversation continued in another process of North, so the shell is a new one, in the main folder"
_BEGINS_ANEW = (
    "the shell starts again here, in the main folder: the folder, variables and background jobs of the commands that "
    "ran in the other process are not taken over"
)


class SessionShell:
    """Makes and holds the shell of one session; nothing of it is loaded, and no process started, before the first
    command."""

    def __init__(
        self,
        stored: Stored,
        environment: Environment,
        settings: SessionSettings,
        editor: Editor,
        gate: TurnGate,
        saved: SavedConversation,
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._editor = editor
        self._gate = gate
        self._saved = saved
        self._stored = stored
        self._log = stored.log
        self._runner: Runner | None = None

    @property
    def runner(self) -> Runner:
        """What runs commands."""
        if self._runner is None:
            self._runner = self.runner_in(self._settings.workspace)
        return self._runner

    def runner_in(self, workspace: Workspace) -> Runner:
        """Make what runs commands of this session in a workspace: its own, or an agent's."""
        from north_lsp.agent.shell.setup import make_runner

        resources = _resources(self._stored, self._environment, workspace.roots.main)
        runner = make_runner(self._environment.settings, workspace, resources)
        if runner.containment is not None:
            runner.containment.on_taken = self._tell_of_taken
        return runner

    @cached_property
    def _own(self) -> OwnCommands:
        from north_lsp.agent.shell.own_commands import KeptCommands, OwnCommands

        kept = KeptCommands(self._log, self._stored.artifacts, self._saved.sync)
        root = self._settings.workspace.roots.main
        return OwnCommands(kept, self.runner, self._editor, root, self._gate, self._unsaved_files)

    def expect(self, paths: Sequence[Path]) -> None:
        """Announce paths that are written with the user's approval while something may run in the sandbox."""
        if self._runner is not None:
            self._runner.expect(paths)

    def take_news(self) -> list[str]:
        """Return what the model has to know of background jobs, each time once."""
        return self._runner.jobs.take_news() if self._runner is not None else []

    async def find_detached(self) -> list[str]:
        """Take over the jobs that an earlier North left running. Returns a line about each."""
        records = self._environment.locations.detached_jobs(project_hash(self._settings.workspace.roots.main))
        return await self.runner.find_detached() if await anyio.to_thread.run_sync(records.is_dir) else []

    def take_over(self, other: SessionShell) -> None:
        """Take over the shells, the directory and the jobs of a session that ends and runs no command."""
        if other._runner is not None:
            self.runner.take_over(other._runner)

    async def end_all(self, grace: float) -> None:
        """End what commands left running."""
        if self._runner is not None:
            await self._runner.end_all(grace)

    async def run(self, own: OwnCommand, *, locked: bool = False) -> Stopped:
        """Run a command of the user's own. `locked`: the caller holds the gate."""
        await self._saved.name(f"!{own.command}")
        await self._own.run(own, locked=locked)
        return "end_turn"

    async def begin_anew(self) -> None:
        """Begin with a new shell, since the conversation continued in another process, whose shell cannot be had here;
        the model and the user are told, if any command ran."""
        if _has_commands(self._log.path()) and await self.runner.begin_anew(_ELSEWHERE):
            await self._editor.show(Notice("info", _BEGINS_ANEW))

    async def _unsaved_files(self) -> tuple[str, ...]:
        return await unsaved_files(self._settings.workspace)

    def _tell_of_taken(self, taken: Sequence[QuarantinedFiles]) -> None:
        names = ", ".join(one_line(str(one.path), 200) for one in taken)
        text = (
            f"{names}: made in the sandbox, where it must not be. It was moved to {taken[0].kept} and is shown later."
        )
        self._environment.background.start_soon(self._editor.show, Notice("warning", visible(text)))


def _has_commands(path: Iterable[Logged]) -> bool:
    return any(
        isinstance(one.entry, OwnCommandEntry) or (isinstance(one.entry, ResultEntry) and one.entry.tool == "shell_run")
        for one in path
    )


def _resources(stored: Stored, environment: Environment, root: Path) -> ShellResources:
    """Return what the shells of a session are made with."""
    from north_lsp.agent.shell.setup import ShellResources

    artifacts, locations, project = stored.artifacts, environment.locations, project_hash(root)
    own = {"NORTH_SESSION_ID": stored.conversation.id} | ({"ARTIFACTS": str(artifacts.folder)} if artifacts else {})
    return ShellResources(
        environment.environ,
        secret_names(environment.models.catalog),
        own,
        environment.background,
        environment.process.shells,
        locations.detached_jobs(project),
        locations.quarantine(project),
    )
