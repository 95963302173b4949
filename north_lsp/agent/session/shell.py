"""The shell of a session: made from the user's settings, and the user's own commands in it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.edits.unsaved import unsaved_files
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.environment import Environment
from north_lsp.agent.session.opened import Stored
from north_lsp.agent.session.saved import SavedConversation
from north_lsp.agent.session.settings import SessionSettings
from north_lsp.agent.shell.setup import ShellResources, make_runner
from north_lsp.agent.shell.user_commands import KeptCommands, UserCommand, UserCommands
from north_lsp.agent.turn.queue import Stopped
from north_lsp.display import one_line, visible
from north_lsp.providers.catalog.catalog import secret_names
from north_lsp.shell.watch import QuarantinedFiles
from north_lsp.workspace.project_root import project_hash

_ELSEWHERE = "this conversation continued in another process of North, so the shell is a new one, in the main folder"
_BEGINS_ANEW = (
    "the shell starts again here, in the main folder: the folder, variables and background jobs of the commands that "
    "ran in the other process are not taken over"
)


class SessionShell:
    """That of one session; no process is started before the first command."""

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
        self._saved = saved
        self._log = stored.log
        root = settings.workspace.roots.main
        self.runner = make_runner(environment.settings, settings.workspace, shell_resources(stored, environment, root))
        if self.runner.containment is not None:
            self.runner.containment.on_taken = self._tell_of_taken
        kept = KeptCommands(stored.log, stored.artifacts, saved.sync)
        self._own = UserCommands(kept, self.runner, editor, root, gate, self._unsaved_files)

    async def run(self, own: UserCommand, *, locked: bool = False) -> Stopped:
        """Run a command of the user's own. `locked`: the caller holds the gate."""
        await self._saved.name(f"!{own.command}")
        await self._own.run(own, locked=locked)
        return "end_turn"

    async def begin_anew(self) -> None:
        """Begin with a new shell, since the conversation went on in another process, whose shell cannot be had here;
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


def shell_resources(stored: Stored, environment: Environment, root: Path) -> ShellResources:
    """Return what the shells of a session are made with."""
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
