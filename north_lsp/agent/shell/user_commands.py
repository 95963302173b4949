"""Own commands, which the user types into the conversation (`!ls`): run at once, without a model and without a
question."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.edits.unsaved import unsaved_for_model
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import own_command_began, own_command_ended
from north_lsp.agent.log.prompt import Part, TextPart, without_editor
from north_lsp.agent.log.results import OwnCommandEntry
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import CallRunning
from north_lsp.agent.shell.terminals import in_terminal
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.options import Place
from north_lsp.shell.results import CommandResult
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.entries import now_ms

_SECONDS = 3600.0
_CONTEXT_LINES = 200
_CONTEXT_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class UserCommand:
    """An own command. `excluded` (typed with `!!`) keeps it from the model; `in_terminal` (`/terminal …`) lets the user
    type there. `note` is appended to its output."""

    command: str
    excluded: bool
    in_terminal: bool = False
    note: str = ""


def parse_user_command(parts: tuple[Part, ...]) -> UserCommand | None:
    """Parse the command in a prompt that begins with `!` or `/terminal` and has nothing else; None for any other
    prompt."""
    text = _only_text(parts)
    slash, _, rest = text.partition(" ")
    if slash == "/terminal":
        command = rest.strip()
        return UserCommand(command, excluded=False, in_terminal=True) if command and "\0" not in command else None
    excluded = text.startswith("!!")
    command = text.lstrip("!").strip() if text.startswith("!") else ""
    return UserCommand(command, excluded) if command and "\0" not in command else None


def nothing_to_run(parts: tuple[Part, ...]) -> str | None:
    """Explain why a prompt that looks like an own command is not one, and is nothing for a model either; None
    otherwise."""
    text = _only_text(parts)
    if text and not text.strip("!"):
        return "nothing to run: a command must follow the `!`"
    if "\0" in text and (text.startswith("!") or text.partition(" ")[0] == "/terminal"):
        return "nothing to run: a command cannot contain a NUL character"
    return None


def _only_text(parts: tuple[Part, ...]) -> str:
    """Return the text of a prompt that has nothing else; empty for any other."""
    match without_editor(parts):
        case (TextPart(text),):
            return text.strip()
        case _:
            return ""


class UserCommands:
    """The own commands of one session. While a turn runs, they run in parallel, in a shell of their own; `sync` flushes
    what is stored."""

    def __init__(
        self,
        log: Log,
        runner: CommandRunner,
        editor: Editor,
        root: Path,
        gate: TurnGate,
        sync: Callable[[], Awaitable[None]],
        unsaved: Callable[[], Awaitable[Sequence[str]]],
    ) -> None:
        """`unsaved` returns the open files with unsaved changes."""
        self._log = log
        self._runner = runner
        self._editor = editor
        self._root = root
        self._gate = gate
        self._sync = sync
        self._unsaved = unsaved

    async def run(self, own: UserCommand, *, locked: bool) -> None:
        """Run an own command. `locked`: the caller holds the gate, so no turn runs at the same time."""

        async def store(entry_id: str, entry: OwnCommandEntry) -> None:
            self._log.append(entry, entry_id)
            await self._sync()

        unsaved = await self._unsaved()
        own = replace(own, note=unsaved_for_model(unsaved, "The command read") if unsaved else "")
        entry_id = self._log.reserve_id()
        run = partial(run_user_command, own, entry_id, self._runner, self._editor, self._root, store)
        if locked:
            await run("outside")
        elif self._gate.has_turn:
            await run("own")
        else:
            async with self._gate.turns():
                await run("outside")


async def run_user_command(
    own: UserCommand,
    entry_id: str,
    runner: CommandRunner,
    editor: Editor,
    root: Path,
    store: Callable[[str, OwnCommandEntry], Awaitable[None]],
    place: Place,
) -> None:
    """Run a command with the user's full rights, in the shell's directory, and record it. A cancelled one is recorded,
    too."""
    entry = OwnCommandEntry(own.command, cancelled=True, excluded=own.excluded, at_ms=now_ms())

    async def on_output(text: str) -> None:
        await editor.show(CallRunning(entry_id, visible(text)))

    try:
        for event in own_command_began(entry_id, own.command):
            await editor.show(event)
        ran = await _ran(own, runner, editor, root, place, entry_id, on_output)
        kept = ran.output.text.rstrip("\n").split("\n")
        text = "\n".join(kept[-_CONTEXT_LINES:])[-_CONTEXT_CHARACTERS:]
        shortened = ran.output.truncated or len(text) < len(ran.output.text.rstrip("\n"))
        entry = replace(entry, output=text, exit_code=ran.exit_code, cancelled=ran.timed_out, truncated=shortened)
    except ToolError as error:
        entry = replace(entry, output=error.message, cancelled=False)
    finally:
        if own.note:
            entry = replace(entry, output=f"{entry.output}\n[{own.note}]".lstrip("\n"))
        with anyio.CancelScope(shield=True):
            await store(entry_id, entry)
            await editor.show(own_command_ended(entry_id, entry))


async def _ran(
    own: UserCommand,
    runner: CommandRunner,
    editor: Editor,
    root: Path,
    place: Place,
    entry_id: str,
    on_output: Callable[[str], Awaitable[None]],
) -> CommandResult:
    """Run a command in the shell or, if it asks for that, in a terminal. Raises ToolError."""
    if not own.in_terminal:
        return await runner.run(own.command, None, _SECONDS, on_output, place, root)
    cwd = runner.state(root).cwd
    terminal = await editor.open_terminal(runner.argv_without_shell(own.command), cwd, {})
    if terminal is None:
        raise ToolError("UNAVAILABLE", "this editor gives North no terminal, so `/terminal` is not available")
    await editor.show(CallRunning(entry_id, terminal=terminal.id))
    return await in_terminal(terminal, _SECONDS, cwd)
