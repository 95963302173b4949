"""Commands that the user types into the conversation (`!ls`): run at once, without a model and without a question."""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.edits.unsaved import told_of_unsaved
from north_lsp.agent.log.prompt import Part, Words
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import CallEnded, CallNamed, CallReady, CallRunning, Event, UserSaid
from north_lsp.agent.shell.terminals import in_terminal
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.shell.options import Place
from north_lsp.shell.runner import CommandRunner, Ran
from north_lsp.storage.conversation import Conversation

_SECONDS = 3600.0
_CONTEXT_LINES = 200
_CONTEXT_CHARACTERS = 16_000
_SHOWN_LINES = 20
_SHOWN_WIDTH = 4000


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """`excluded` (typed with `!!`) keeps it from the model; `in_terminal` (`/terminal …`) lets the user type there.
    `note` stands behind its output."""

    command: str
    excluded: bool
    in_terminal: bool = False
    note: str = ""


def own_command(parts: tuple[Part, ...]) -> OwnCommand | None:
    """The command in a prompt that begins with `!` or `/terminal`, and has nothing else; None for any other prompt."""
    if len(parts) != 1 or not isinstance(parts[0], Words):
        return None
    text = parts[0].text.strip()
    slash, _, rest = text.partition(" ")
    if slash == "/terminal":
        command = rest.strip()
        return OwnCommand(command, excluded=False, in_terminal=True) if command and "\0" not in command else None
    excluded = text.startswith("!!")
    command = text.lstrip("!").strip() if text.startswith("!") else ""
    return OwnCommand(command, excluded) if command and "\0" not in command else None


def nothing_to_run(parts: tuple[Part, ...]) -> str | None:
    """Why a prompt that looks like such a command is none, and is nothing for a model either."""
    text = parts[0].text.strip() if len(parts) == 1 and isinstance(parts[0], Words) else ""
    if text and not text.strip("!"):
        return "nothing to run: a command has to follow the `!`"
    if "\0" in text and (text.startswith("!") or text.partition(" ")[0] == "/terminal"):
        return "nothing to run: a command cannot hold a NUL character"
    return None


class OwnCommands:
    """Those of one session. While a turn runs, they run beside it, in a shell of their own;
    `sync` writes what is stored."""

    def __init__(
        self,
        conversation: Conversation,
        runner: CommandRunner,
        editor: Editor,
        root: Path,
        gate: TurnGate,
        sync: Callable[[], Awaitable[None]],
        unsaved: Callable[[], Awaitable[Sequence[str]]],
    ) -> None:
        """`unsaved` names the open files whose text the disk does not have."""
        self._conversation = conversation
        self._runner = runner
        self._editor = editor
        self._root = root
        self._gate = gate
        self._sync = sync
        self._unsaved = unsaved

    async def run(self, own: OwnCommand, *, locked: bool) -> None:
        """`locked`: it has a turn's place, so that no turn runs beside it."""

        async def store(entry: dict[str, Any]) -> None:
            self._conversation.append("message", **entry)
            await self._sync()

        unsaved = await self._unsaved()
        own = replace(own, note=told_of_unsaved(unsaved, "The command read") if unsaved else "")
        run = partial(run_own_command, own, self._conversation, self._runner, self._editor, self._root, store)
        if locked:
            await run("outside")
        elif self._gate.has_turn:
            await run("own")
        else:
            async with self._gate.turns():
                await run("outside")


async def run_own_command(
    own: OwnCommand,
    conversation: Conversation,
    runner: CommandRunner,
    editor: Editor,
    root: Path,
    store: Callable[[dict[str, Any]], Awaitable[None]],
    place: Place,
) -> None:
    """Run it with the user's own rights, in the shell's directory, and record it. A cancelled one is recorded, too."""
    entry_id = conversation.reserve_id()
    message: dict[str, Any] = {
        "role": "bashExecution",
        "command": own.command,
        "output": "",
        "exitCode": None,
        "cancelled": True,
        "truncated": False,
        "excludeFromContext": own.excluded,
        "timestamp": round(time.time() * 1000),
    }

    async def on_output(text: str) -> None:
        await editor.show(CallRunning(entry_id, visible(text)))

    try:
        for event in _opening(entry_id, own.command):
            await editor.show(event)
        ran = await _ran(own, runner, editor, root, place, entry_id, on_output)
        kept = ran.output.text.rstrip("\n").split("\n")
        text = "\n".join(kept[-_CONTEXT_LINES:])[-_CONTEXT_CHARACTERS:]
        message |= {"output": text, "exitCode": ran.exit_code, "cancelled": ran.timed_out}
        message["truncated"] = ran.output.truncated or len(text) < len(ran.output.text.rstrip("\n"))
    except ToolError as error:
        message |= {"output": error.message, "cancelled": False}
    finally:
        if own.note:
            message["output"] = f"{message['output']}\n[{own.note}]".lstrip("\n")
        with anyio.CancelScope(shield=True):
            await store({"entry_id": entry_id, "message": message})
            await editor.show(_ending(entry_id, message))


async def _ran(
    own: OwnCommand,
    runner: CommandRunner,
    editor: Editor,
    root: Path,
    place: Place,
    entry_id: str,
    on_output: Callable[[str], Awaitable[None]],
) -> Ran:
    """Raises ToolError."""
    if not own.in_terminal:
        return await runner.run(own.command, None, _SECONDS, on_output, place, root)
    cwd = runner.state(root).cwd
    terminal = await editor.open_terminal(runner.argv_without_shell(own.command), cwd, {})
    if terminal is None:
        raise ToolError("UNAVAILABLE", "a terminal that you can type into is not available here")
    await editor.show(CallRunning(entry_id, terminal=terminal.id))
    return await in_terminal(terminal, _SECONDS, cwd)


def own_command_events(entry_id: str, message: Mapping[str, Any]) -> Iterator[Event]:
    """A stored command as it was shown; the prompt itself comes first, since the client does not have it any more."""
    prefix = "!!" if message.get("excludeFromContext") else "!"
    yield UserSaid(entry_id, f"{prefix}{message.get('command', '')}")
    yield from _opening(entry_id, str(message.get("command", "")))
    yield _ending(entry_id, message)


def _opening(entry_id: str, command: str) -> Iterator[Event]:
    title = one_line(f"Running {command}")
    yield CallNamed(entry_id, "shell_run", "execute", title)
    yield CallReady(entry_id, title, {"command": command})
    yield CallRunning(entry_id)


def _ending(entry_id: str, message: Mapping[str, Any]) -> CallEnded:
    lines = [line[:_SHOWN_WIDTH] for line in str(message.get("output", "")).split("\n")[-_SHOWN_LINES:]]
    code = message.get("exitCode")
    if message.get("cancelled"):
        lines.append("cancelled")
    elif code:
        lines.append(f"exit code {code}")
    text = visible("\n".join(lines).strip() or "(no output)")
    return CallEnded(entry_id, one_line(f"Running {message.get('command', '')}"), code == 0, text)
