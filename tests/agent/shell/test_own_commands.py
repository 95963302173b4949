"""The user's own commands: beside a turn in a shell of their own, stored when no call waits; and in a terminal."""

import errno
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from anyio.lowlevel import checkpoint

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import own_command_ended
from north_lsp.agent.log.prompt import TextPart
from north_lsp.agent.log.results import OwnCommandEntry
from north_lsp.agent.log.transcript import said_by_user
from north_lsp.agent.ports.events import CallEnded, CallRunning, Event
from north_lsp.agent.shell.own_command import OwnCommand, parse_own_command
from north_lsp.agent.shell.own_commands import KeptCommands, run_own_command
from north_lsp.errors import ToolError
from north_lsp.shell.environment import command_environment
from north_lsp.shell.options import Place
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.support.addresses import read_output
from tests.agent.shell.test_run import FakeTerminal, Playing
from tests.support.edits import World


def test_what_is_a_command_of_the_users() -> None:
    assert parse_own_command((TextPart("!ls -l"),)) == OwnCommand("ls -l", False)
    assert parse_own_command((TextPart("!! ls"),)) == OwnCommand("ls", True)
    assert parse_own_command((TextPart("/terminal python3 x.py"),)) == OwnCommand(
        "python3 x.py", False, in_terminal=True
    )
    for text in ("/terminal", "/terminals x", "ls", "!", "hi !ls", "/terminal \0"):
        assert parse_own_command((TextPart(text),)) is None
    assert parse_own_command((TextPart("!ls"), TextPart("more"))) is None


async def ran(
    world: World, runner: CommandRunner, editor: Playing, own: OwnCommand, place: Place, *, keeps: bool = True
) -> OwnCommandEntry:
    """What is stored of a command that is run."""
    log, artifacts = Log(world.conversation), Artifacts(world.conversation.folder)

    async def sync() -> None:
        world.conversation.sync()

    kept = KeptCommands(log, artifacts if keeps else None, sync)
    await run_own_command(own, kept, runner, cast(Any, editor), world.root, place)
    stored = log.entries()[-1]
    assert isinstance(stored.entry, OwnCommandEntry)
    (ended,) = [event for event in editor.shown if isinstance(event, CallEnded) and event.call_id == stored.id]
    assert ended == own_command_ended(stored.id, OwnCommandEntry.from_json(stored.entry.to_json()))
    return stored.entry


@asynccontextmanager
async def shell(world: World) -> AsyncIterator[CommandRunner]:
    async with anyio.create_task_group() as background:
        runner = CommandRunner(command_environment(os.environ, frozenset()), background, world.root)
        yield runner
        await runner.end_all(0.1)
        background.cancel_scope.cancel()


async def test_of_a_long_output_the_end_is_in_the_conversation_and_the_whole_beside_it(tmp_path: Path) -> None:
    world, editor = World(tmp_path), Playing()
    artifacts = Artifacts(world.conversation.folder)
    async with shell(world) as runner:
        short = await ran(world, runner, editor, OwnCommand("seq 200", False), "outside")
        assert (short.truncated, short.artifact, short.left_out, short.cwd) == (False, None, "", str(world.root))
        for count in (300, 30_000):  # what fits into memory, and what does not
            own = OwnCommand(f"seq {count}; cd /", False)
            entry = await ran(world, runner, editor, own, "outside")
            assert entry.output == "\n".join(str(number) for number in range(count - 199, count + 1))
            assert entry.artifact is not None
            assert artifacts.read(entry.artifact).split() == [str(number) for number in range(1, count + 1)]
            assert said_by_user(entry).endswith(
                f"(the end of {count:,} lines; artifact://{entry.artifact} is all of it)"
            )
        assert entry.cwd == "/"
        ended = editor.shown[-1]
        assert isinstance(ended, CallEnded)
        assert ended.text.endswith(f"30000\n{entry.left_out}")
        assert ended.truncation == {"artifactId": str(entry.artifact)}
        entry = await ran(world, runner, editor, OwnCommand("seq 300", False), "outside", keeps=False)
        assert entry.left_out == "(the end of 300 lines; the rest was not kept)"


@pytest.mark.parametrize("is_full", [False, True])
async def test_the_whole_output_of_an_excluded_command_is_closed_to_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_full: bool
) -> None:
    world, editor = World(tmp_path), Playing()
    if is_full:  # what cannot be written is kept in memory

        def refuse(path: Path, data: bytes) -> None:
            raise OSError(errno.ENOSPC, "no space")

        monkeypatch.setattr("north_lsp.storage.artifacts.write_atomic", refuse)
    artifacts = Artifacts(world.conversation.folder)
    async with shell(world) as runner:
        kept = KeptCommands(Log(world.conversation), artifacts, checkpoint)
        for count in (300,) if is_full else (300, 30_000):
            own = OwnCommand(f"seq {count}", True)
            await run_own_command(own, kept, runner, cast(Any, editor), world.root, "outside")
            entry = Log(world.conversation).entries()[-1].entry
            assert isinstance(entry, OwnCommandEntry)
            assert entry.artifact is not None
            assert len(artifacts.read(entry.artifact).split()) == count
            with pytest.raises(ToolError, match="closed to you"):
                await read_output(str(entry.artifact), artifacts)
    assert artifacts.numbers() == []


def test_an_entry_that_does_not_tell_how_much_there_was_is_shown_as_before() -> None:
    entry = OwnCommandEntry("ls", "a", truncated=True)
    assert entry.left_out == ""
    assert said_by_user(entry) == "I ran this command myself:\nls\n\n(it did not end on its own)\na"


async def test_a_command_beside_a_turn_has_a_shell_of_its_own(tmp_path: Path) -> None:
    world, editor = World(tmp_path), Playing()
    (world.root / "sub").mkdir()

    async def ignore(text: str) -> None:
        return None

    async with shell(world) as runner:
        await runner.run("export WORD=w; kept=1", None, 600, ignore)
        async with anyio.create_task_group() as turn:
            turn.start_soon(runner.run, "until [ -e go ]; do sleep 0.01; done", None, 600, ignore)
            own = OwnCommand("echo $WORD [$kept]; cd sub; touch ../go", False)
            entry = await ran(world, runner, editor, own, "own")
        assert (entry.output, entry.exit_code, entry.cancelled) == ("w []", 0, False)
        here = await runner.run("pwd; echo $kept", None, 600, ignore)
        assert here.output.text == f"{world.root}\n1\n"


async def test_a_command_in_a_terminal_is_recorded_like_any(tmp_path: Path) -> None:
    world, editor = World(tmp_path), Playing()
    async with shell(world) as runner:
        own = OwnCommand("python3 ask.py", False, in_terminal=True)
        assert "gives North no terminal" in (await ran(world, runner, editor, own, "outside")).output
        editor.terminal = FakeTerminal()
        entry = await ran(world, runner, editor, own, "outside")
        assert (entry.output, entry.exit_code) == ("typed", 4)
        argv: Sequence[str] = editor.terminal.argv
        assert argv[-1] == "python3 ask.py"


@pytest.mark.parametrize("lines", [2, 300])
async def test_what_a_command_had_said_when_it_was_cancelled_is_kept(tmp_path: Path, lines: int) -> None:
    class Impatient(Playing):
        async def show(self, event: Event) -> None:
            await super().show(event)
            if isinstance(event, CallRunning) and "nonesuch" in (event.output or ""):
                turn.cancel_scope.cancel()

    world, editor = World(tmp_path), Impatient()
    log, artifacts = Log(world.conversation), Artifacts(world.conversation.folder)
    async with shell(world) as runner, anyio.create_task_group() as turn:
        own = OwnCommand(f"seq {lines}; nonesuch; sleep 100", False)
        kept = KeptCommands(log, artifacts, checkpoint)
        await run_own_command(own, kept, runner, cast(Any, editor), world.root, "outside")
    entry = log.entries()[-1].entry
    assert isinstance(entry, OwnCommandEntry)
    assert entry.cancelled
    *said, missing = entry.output.split("\n")
    assert said == [str(number) for number in range(1, lines + 1)][-199:]
    assert missing == "bash: nonesuch: command not found"
    ended = editor.shown[-1]
    assert isinstance(ended, CallEnded)
    assert ended.text.endswith("cancelled")
    assert f"\n{lines}\n" in ended.text
    assert (entry.artifact is not None) == (lines > 200)


async def test_what_is_in_a_terminal_when_its_command_is_cancelled_is_kept(tmp_path: Path) -> None:
    class Endless(FakeTerminal):
        async def wait(self) -> int | None:
            turn.cancel_scope.cancel()
            await anyio.sleep_forever()
            return None

    world, editor = World(tmp_path), Playing(terminal=Endless())
    log = Log(world.conversation)
    async with shell(world) as runner, anyio.create_task_group() as turn:
        own = OwnCommand("python3 ask.py", False, in_terminal=True)
        await run_own_command(
            own, KeptCommands(log, None, checkpoint), runner, cast(Any, editor), world.root, "outside"
        )
    entry = log.entries()[-1].entry
    assert isinstance(entry, OwnCommandEntry)
    assert (entry.output, entry.cancelled) == ("typed", True)
