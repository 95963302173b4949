"""The user's own commands: beside a turn in a shell of their own, stored when no call waits; and in a terminal."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import anyio

from north_lsp.agent.log.prompt import TextPart
from north_lsp.agent.log.results import OwnCommandEntry
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.shell.user_commands import UserCommand, parse_user_command, run_user_command
from north_lsp.shell.environment import command_environment
from north_lsp.shell.options import Place
from north_lsp.shell.runner import CommandRunner
from tests.agent.shell.test_run import FakeTerminal, Playing
from tests.support.edits import World


def test_what_is_a_command_of_the_users() -> None:
    assert parse_user_command((TextPart("!ls -l"),)) == UserCommand("ls -l", False)
    assert parse_user_command((TextPart("!! ls"),)) == UserCommand("ls", True)
    assert parse_user_command((TextPart("/terminal python3 x.py"),)) == UserCommand(
        "python3 x.py", False, in_terminal=True
    )
    for text in ("/terminal", "/terminals x", "ls", "!", "hi !ls", "/terminal \0"):
        assert parse_user_command((TextPart(text),)) is None
    assert parse_user_command((TextPart("!ls"), TextPart("more"))) is None


async def ran(
    world: World, runner: CommandRunner, editor: Playing, own: UserCommand, place: Place
) -> Mapping[str, Any]:
    stored: list[OwnCommandEntry] = []

    async def store(entry_id: str, entry: OwnCommandEntry) -> None:
        assert entry_id == "e1"
        stored.append(entry)

    await run_user_command(own, "e1", runner, cast(Any, editor), world.root, store, place)
    (entry,) = stored
    assert any(isinstance(event, CallEnded) and event.call_id == "e1" for event in editor.shown)
    message: Mapping[str, Any] = entry.to_json()["message"]
    return message


async def test_a_command_beside_a_turn_has_a_shell_of_its_own(tmp_path: Path) -> None:
    world, editor = World(tmp_path), Playing()
    (world.root / "sub").mkdir()

    async def ignore(text: str) -> None:
        return None

    async with anyio.create_task_group() as background:
        runner = CommandRunner(command_environment(os.environ, frozenset()), background, world.root)
        await runner.run("export WORD=w; kept=1", None, 600, ignore)
        async with anyio.create_task_group() as turn:
            turn.start_soon(runner.run, "until [ -e go ]; do sleep 0.01; done", None, 600, ignore)
            message = await ran(
                world, runner, editor, UserCommand("echo $WORD [$kept]; cd sub; touch ../go", False), "own"
            )
        assert (message["output"], message["exitCode"], message["cancelled"]) == ("w []", 0, False)
        here = await runner.run("pwd; echo $kept", None, 600, ignore)
        assert here.output.text == f"{world.root}\n1\n"
        await runner.end_all(0.1)
        background.cancel_scope.cancel()


async def test_a_command_in_a_terminal_is_recorded_like_any(tmp_path: Path) -> None:
    world, editor = World(tmp_path), Playing()
    async with anyio.create_task_group() as background:
        runner = CommandRunner(command_environment(os.environ, frozenset()), background, world.root)
        own = UserCommand("python3 ask.py", False, in_terminal=True)
        assert "not available here" in (await ran(world, runner, editor, own, "outside"))["output"]
        editor.terminal = FakeTerminal()
        message = await ran(world, runner, editor, own, "outside")
        assert (message["output"], message["exitCode"]) == ("typed", 4)
        argv: Sequence[str] = editor.terminal.argv
        assert argv[-1] == "python3 ask.py"
        await runner.end_all(0.1)
        background.cancel_scope.cancel()
