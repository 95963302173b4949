"""Own commands, which the user types into the conversation (`!ls`): run at once, without a model and without a
question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.edits.unsaved import unsaved_for_model
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import own_command_began, own_command_ended
from north_lsp.agent.log.results import OwnCommandEntry
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import CallRunning
from north_lsp.agent.shell.own_command import OwnCommand
from north_lsp.agent.shell.terminals import in_terminal
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.shell.options import Place
from north_lsp.shell.output import Captured, OutputSink, Spill
from north_lsp.shell.port import Runner
from north_lsp.shell.results import CommandResult
from north_lsp.storage.artifacts import CLOSED, Artifacts
from north_lsp.storage.entries import now_ms

_SECONDS = 3600.0
_CONTEXT_LINES = 200
_CONTEXT_CHARACTERS = 16_000
_KIND = "own_command"


class KeptCommands:
    """Where own commands are recorded: in the log and, what is too long for it, beside it. `sync` flushes the log."""

    def __init__(self, log: Log, artifacts: Artifacts | None, sync: Callable[[], Awaitable[None]]) -> None:
        self._log = log
        self._artifacts = artifacts
        self._sync = sync

    def reserve(self) -> str:
        """Reserve the id of an entry."""
        return self._log.reserve_id()

    async def add(self, entry_id: str, entry: OwnCommandEntry) -> None:
        """Record a command that has ended."""
        self._log.append(entry, entry_id)
        await self._sync()

    def spill(self, *, excluded: bool) -> Callable[[], Spill] | None:
        """Return what makes a place for the whole of an output that is too long even for memory; None without one."""
        return partial(self._artifacts.stream, _kind(excluded)) if self._artifacts is not None else None

    async def whole(self, output: Captured, *, excluded: bool) -> int | None:
        """Keep the whole of an output of which the entry gets the end; returns the number of the artifact."""
        if output.number is not None or output.truncated or self._artifacts is None:
            return output.number
        return await anyio.to_thread.run_sync(self._artifacts.add, _kind(excluded), output.text)


def _kind(excluded: bool) -> str:
    return CLOSED if excluded else _KIND


class OwnCommands:
    """The own commands of one session. While a turn runs, they run in parallel, in a shell of their own."""

    def __init__(
        self,
        kept: KeptCommands,
        runner: Runner,
        editor: Editor,
        root: Path,
        gate: TurnGate,
        unsaved: Callable[[], Awaitable[Sequence[str]]],
    ) -> None:
        """`unsaved` returns the open files with unsaved changes."""
        self._kept = kept
        self._runner = runner
        self._editor = editor
        self._root = root
        self._gate = gate
        self._unsaved = unsaved

    async def run(self, own: OwnCommand, *, locked: bool) -> None:
        """Run an own command. `locked`: the caller holds the gate, so no turn runs at the same time."""
        unsaved = await self._unsaved()
        own = replace(own, note=unsaved_for_model(unsaved, "The command read") if unsaved else "")
        run = partial(run_own_command, own, self._kept, self._runner, self._editor, self._root)
        if locked:
            await run("outside")
        elif self._gate.has_turn:
            await run("own")
        else:
            async with self._gate.turns():
                await run("outside")


async def run_own_command(
    own: OwnCommand, kept: KeptCommands, runner: Runner, editor: Editor, root: Path, place: Place
) -> None:
    """Run a command with the user's full rights, in the shell's directory, and record it. A cancelled one is recorded,
    too, with what it has said so far."""
    sink = OutputSink(kept.spill(excluded=own.excluded))
    remarks = []
    entry_id, cwd = kept.reserve(), str(runner.state(root).cwd)
    entry = OwnCommandEntry(own.command, cancelled=True, excluded=own.excluded, at_ms=now_ms(), cwd=cwd)
    try:
        for event in own_command_began(entry_id, own.command):
            await editor.show(event)
        ran = await _ran(own, entry_id, sink, runner, editor, root, place)
        entry = replace(entry, exit_code=ran.exit_code, cancelled=ran.timed_out)
    except ToolError as error:
        entry = replace(entry, cancelled=False)
        remarks.append(error.message)
    finally:
        remarks += [f"[{own.note}]"] if own.note else []
        with anyio.CancelScope(shield=True):  # nothing that was shown is lost
            entry = await _with_output(entry, sink.finish(), kept)
            entry = replace(entry, output="\n".join(filter(None, (entry.output, *remarks))))
            await kept.add(entry_id, entry)
            await editor.show(own_command_ended(entry_id, entry))


async def _with_output(entry: OwnCommandEntry, output: Captured, kept: KeptCommands) -> OwnCommandEntry:
    """Return the entry with the end of an output, and with where the whole is if that is more."""
    whole = output.text.rstrip("\n")
    text = "\n".join(whole.split("\n")[-_CONTEXT_LINES:])[-_CONTEXT_CHARACTERS:]
    if not output.truncated and len(text) == len(whole):
        return replace(entry, output=text)
    entry = replace(entry, output=text, truncated=True, total_lines=output.total_lines)
    return replace(entry, artifact=await kept.whole(output, excluded=entry.excluded))


async def _ran(
    own: OwnCommand,
    entry_id: str,
    sink: OutputSink,
    runner: Runner,
    editor: Editor,
    root: Path,
    place: Place,
) -> CommandResult:
    """Run a command in the shell or, if it asks for that, in a terminal. Raises ToolError."""

    async def on_output(text: str) -> None:
        await editor.show(CallRunning(entry_id, visible(text)))

    if not own.in_terminal:
        return await runner.run(own.command, None, _SECONDS, on_output, place, root, sink)
    cwd = runner.state(root).cwd
    terminal = await editor.open_terminal(runner.argv_without_shell(own.command), cwd, {})
    if terminal is None:
        raise ToolError("UNAVAILABLE", "this editor gives North no terminal, so `/terminal` is not available")
    await editor.show(CallRunning(entry_id, terminal=terminal.id))
    return await in_terminal(terminal, _SECONDS, cwd, sink)
