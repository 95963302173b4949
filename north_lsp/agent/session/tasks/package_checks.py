"""The checks of a package before it comes back: the goal's commands run in a work tree that has the user's files as
they are now and the package's changes, so that nothing is written that breaks what worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.log.command_details import CommandDetails
from north_lsp.agent.planning.goal import goal_on
from north_lsp.agent.planning.workflow_checks import commands_of
from north_lsp.agent.ports.events import CallEnded, CallNamed, CallReady
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.session.services.call_wiring import SessionTools
from north_lsp.agent.session.tasks.agent_run import Work
from north_lsp.agent.session.tasks.trees import own_tree
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.agent.shell.run import ShellCommands
from north_lsp.agent.subagents.agent_editor import AgentEditor, Names
from north_lsp.agent.subagents.place import Place, TreeEdits
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.shell.port import Runner
from north_lsp.storage.blobs import Blobs
from north_lsp.tools.base import Command
from north_lsp.workspace.apply.apply import apply
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

_NOT_THERE = (126, 127)
"""How a shell ends where there is no such program: work trees have nothing that git ignores."""
_SHOWN = 2_000
_GRACE_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Checked:
    """The results of a package's checks: a line for each command, and the failures that keep the package out."""

    rows: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ran:
    """How a command ended: its exit code, None where it did not run, and what it said."""

    code: int | None
    text: str


@dataclass(frozen=True, slots=True)
class PackageChecks:
    """Runs the checks of one package. `editor` asks about its commands under the agent's name, and says that they run
    in a tree; `workspace` is the user's."""

    means: TurnMeans
    work: Work
    workspace: Workspace
    editor: AgentEditor
    names: Names

    async def run(self, changes: Sequence[FileChange]) -> Checked:
        """Run the checks. Raises StopTurn, ToolError."""
        goal, package = goal_on(self.means.stored.log), self.work.package
        commands = list(dict.fromkeys(commands_of(goal))) if goal is not None else []
        if not commands or package is None:
            return Checked()
        after = await self._codes("checks", commands, changes)
        bad = [one for one in commands if after[one].code]
        before = await self._codes("before", bad, ()) if bad else {}
        rows: list[str] = []
        failing: list[str] = []
        for command in commands:
            code = after[command].code
            is_own = command in package.checks and code not in _NOT_THERE
            if code and (before[command].code == 0 or is_own):
                failing.append(command)
                rows.append(f"- `{command}` fails ({code}):\n{after[command].text[-_SHOWN:]}")
            else:
                rows.append(f"- `{command}`: {_in_words(after[command])}")
        return Checked(tuple(rows), tuple(failing))

    async def _codes(self, what: str, commands: Sequence[str], changes: Sequence[FileChange]) -> Mapping[str, _Ran]:
        """Run commands in a tree with these changes."""
        name = f"{self.names.id}-{what}"
        async with own_tree(self.means, self.workspace, name, self.editor) as place:
            await anyio.to_thread.run_sync(_put, changes, place, self.workspace)
            runner = self.means.shell.runner_in(place.workspace)
            try:
                shell = await self._shell(place, runner)
                return {one: await self._ran(f"{what}-{at}", one, place, shell) for at, one in enumerate(commands)}
            finally:
                with anyio.CancelScope(shield=True):
                    await runner.end_all(_GRACE_SECONDS)

    async def _ran(self, id: str, command: str, place: Place, shell: ShellCommands) -> _Ran:
        """Run one command; the user is asked about it as about any other."""
        settings = self.means.environment.settings
        may = self.work.powers
        context = TurnContext(may.model, "", may.mode, may.tools, place.workspace, settings)
        title = one_line(f"Check {command}")
        call = ToolCall(id, "shell_run", {"command": command})
        await self.editor.show(CallNamed(id, call.name, "execute", title))
        await self.editor.show(CallReady(id, title, call.arguments, ()))
        asked = replace(call, id=self.names.call(id))
        wanted = Command(command, place.workspace.roots.main, float(settings.shell.timeout_s))
        try:
            result = await shell.run(context, asked, self.names.title(title), wanted)
        except ToolError as error:
            await self.editor.show(CallEnded(id, title, False, error.message))
            return _Ran(None, str(error))
        await self.editor.show(replace(result.ended, call_id=id))
        code = CommandDetails.of(result.details or {}).exit_code
        return _Ran(code, result.text) if code is not None else _Ran(None, "the user did not want it")

    async def _shell(self, place: Place, runner: Runner) -> ShellCommands:
        means = self.means
        stored, process = means.stored, means.environment.process
        ports = Ports(self.editor, means.ports.status, means.ports.diagnostics)
        assert place.tree is not None
        kept = Checkpoints(stored.log, Blobs(means.environment.locations.blobs), place.tree.folder / "journals")
        reviews = ReviewRecord(stored.log, self.editor, stored.approvals, means.saved.sync)
        edits = TreeEdits(reviews, self.editor, kept, runner.expect, ports.diagnostics)
        edits.names = self.names
        tools = SessionTools(lambda: runner, kept, stored.artifacts, process.abandoned, stored.secrets.is_in)
        return tools.services(stored.log, reviews, edits, ports).carriers.shell


def _put(changes: Sequence[FileChange], place: Place, workspace: Workspace) -> None:
    """Make the same changes in a tree."""
    here = partial(_moved, workspace.roots.main, place.workspace.roots.main)
    apply(
        [
            replace(one, path=here(one.path), new_path=here(one.new_path) if one.new_path is not None else None)
            for one in changes
        ],
        place.workspace.roots,
    )


def _moved(root: Path, to: Path, path: Path) -> Path:
    return to / path.relative_to(root)


def _in_words(ran: _Ran) -> str:
    if ran.code is None:
        return f"not run: {ran.text}"
    if ran.code == 0:
        return "passes"
    return f"fails ({ran.code}) in a work tree, with these changes and without them"
