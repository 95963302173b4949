"""How shells are made and kept: settings, limits, the user's own functions, a session that goes on in another."""

import os
from pathlib import Path

import anyio
import pytest

from north_lsp.errors import ToolError
from north_lsp.shell import factory as making
from north_lsp.shell import pool as keeping
from north_lsp.shell import progress
from north_lsp.shell.environment import command_environment
from north_lsp.shell.options import ShellOptions
from north_lsp.shell.pool import ShellPool
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.snapshot import user_snapshot
from tests.shell.test_runner import gone, is_gone, run
from tests.support.patience import PATIENCE

ENVIRON = command_environment(os.environ, frozenset())


async def test_at_most_so_many_sessions_have_shells_and_the_one_that_lost_its_own_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "MAX_OPEN", 2)
    async with anyio.create_task_group() as background:
        shell_pool = ShellPool(background)
        first, second, third = (CommandRunner(ENVIRON, background, tmp_path, shell_pool=shell_pool) for _ in range(3))
        pid = int((await run(first, "kept=1; echo $$")).output.text)
        await run(second, "true")
        await run(third, "true")
        assert not first.is_open()
        assert is_gone(pid)
        assert second.is_open()
        ran = await run(first, "echo [$kept]")
        assert ran.output.text == "[]\n"
        assert ran.lost == "the shell was closed because 2 others were in use"
        assert (await run(first, "true")).lost is None
        for one in (first, second, third):
            await one.end_all(0.1)
        background.cancel_scope.cancel()


async def test_a_shell_that_nobody_uses_is_closed_but_not_one_with_work_in_it(tmp_path: Path) -> None:
    async with anyio.create_task_group() as background:
        shell_pool = ShellPool(background, idle=0.05, sweep=0.02)
        idle, busy = (CommandRunner(ENVIRON, background, tmp_path, shell_pool=shell_pool) for _ in range(2))
        await run(busy, "sleep 60 & true")
        await run(idle, "cd /; kept=1")
        with anyio.fail_after(PATIENCE):
            while idle.is_open():
                await anyio.sleep(0.02)
        assert busy.is_open()
        ran = await run(idle, "pwd")
        assert ran.output.text == "/\n"
        assert ran.lost is not None
        assert "without a command" in ran.lost
        for one in (idle, busy):
            await one.end_all(0.1)
        background.cancel_scope.cancel()


async def test_another_session_goes_on_where_the_shell_is(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with anyio.create_task_group() as background:
        old, new = (CommandRunner({**ENVIRON, "NORTH_SESSION_ID": id}, background, tmp_path) for id in ("old", "new"))
        await run(old, "cd sub; kept=1; export WORD=w")
        job = await old.jobs.begin("echo on; sleep 60", "session", tmp_path)
        new.take_over(old)
        await old.end_all(0.1)
        ran = await run(new, "pwd; echo $kept $WORD $NORTH_SESSION_ID")
        assert ran.output.text == f"{tmp_path}/sub\n1 w new\n"
        assert (await run(new, "echo $WORD $NORTH_SESSION_ID", place="bare")).output.text == "w new\n"
        assert new.state(tmp_path).changes == ()
        assert new.jobs.find(job.id).running
        await new.end_all(0.1)
        assert not job.running
        background.cancel_scope.cancel()


async def test_shells_that_other_settings_made_are_not_taken_over(tmp_path: Path) -> None:
    async with anyio.create_task_group() as background:
        old = CommandRunner(ENVIRON, background, tmp_path)
        new = CommandRunner(ENVIRON, background, tmp_path, options=ShellOptions(prefix="env"))
        await run(old, "kept=1")
        new.take_over(old)
        assert old.is_open()
        assert not new.is_open()
        await old.end_all(0.1)
        background.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("options", "command", "text"),
    [
        (ShellOptions(terminal=False), "test -t 1 || echo pipe; echo err >&2; printf 'no end'", "pipe\nerr\nno end"),
        (ShellOptions(), "test -t 1 && echo terminal", "terminal\n"),
        (ShellOptions(prefix="env WORD=own"), "bash -c 'echo $WORD'", "own\n"),
        (ShellOptions(path="/bin/bash"), "echo $BASH", "/bin/bash\n"),
    ],
)
async def test_options_of_the_shell(tmp_path: Path, options: ShellOptions, command: str, text: str) -> None:
    async with anyio.create_task_group() as background:
        shell = CommandRunner(ENVIRON, background, tmp_path, options=options)
        assert (await run(shell, command)).output.text == text
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


async def test_without_persistence_nothing_stays(tmp_path: Path) -> None:
    async with anyio.create_task_group() as background:
        shell = CommandRunner(ENVIRON, background, tmp_path, options=ShellOptions(persistent=False))
        assert not (await run(shell, "cd /; kept=1; export WORD=w")).moved
        ran = await run(shell, "pwd; echo [$kept$WORD]")
        assert ran.output.text == f"{tmp_path}\n[]\n"
        assert ran.lost is None
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


async def test_a_shell_that_is_not_there_is_named(tmp_path: Path) -> None:
    async with anyio.create_task_group() as background:
        shell = CommandRunner(ENVIRON, background, tmp_path, options=ShellOptions(path="/nowhere/bash"))
        with pytest.raises(ToolError, match="/nowhere/bash was not found") as error:
            await run(shell, "true")
        assert error.value.code == "UNAVAILABLE"
        background.cancel_scope.cancel()


async def test_the_users_own_functions_and_aliases_are_there_and_change_no_meaning(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".bash_profile").write_text(
        "greet() { echo \"hello $1\"; }\nalias hi='greet you'\nshopt -s globstar\nset -e\n"
        "echo noise\ntrap 'echo t' EXIT\n"
    )
    environ = {**ENVIRON, "HOME": str(home)}
    async with anyio.create_task_group() as background:
        shell = CommandRunner(environ, background, tmp_path, options=ShellOptions(snapshot=True))
        ran = await run(shell, "hi\nfalse; shopt -q globstar && echo globstar")
        assert ran.output.text == "hello you\nglobstar\n"
        assert shell.state(tmp_path).changes == ()
        assert (await run(shell, "type -t greet", place="bare")).exit_code == 1
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


def test_a_profile_that_hangs_or_fails_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("north_lsp.shell.snapshot._SECONDS", 0.2)
    (tmp_path / ".bash_profile").write_text("sleep 60\n")
    assert user_snapshot("bash", {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}) == ""
    (tmp_path / ".bash_profile").write_text("exit 0\n")
    assert user_snapshot("bash", {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}) == ""
    assert user_snapshot("/nowhere/bash", {"HOME": str(tmp_path)}) == ""


async def test_a_command_that_has_printed_enough_lines_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_ENOUGH_SECONDS", 0.1)

    async def ignore(text: str) -> None:
        return None

    async with anyio.create_task_group() as background:
        shell = CommandRunner(ENVIRON, background, tmp_path)
        ran = await shell.run("yes", None, 600, ignore, enough=5)
        assert ran.enough
        assert not ran.timed_out
        ran = await shell.run("seq 10", None, 600, ignore, enough=5)
        assert not ran.enough
        assert ran.exit_code == 0
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


def no_persistent_bash(folder: Path) -> str:
    """A bash that runs commands, but none that it would read one after the other."""
    path = folder / "stubborn-bash"
    path.write_text('#!/bin/bash\nfor word; do [ "$word" = -i ] && exit 3; done\nexec /bin/bash "$@"\n')
    path.chmod(0o755)
    return str(path)


async def test_where_no_shell_can_be_kept_each_command_has_one_of_its_own(tmp_path: Path) -> None:
    options = ShellOptions(path=no_persistent_bash(tmp_path), prefix="env WORD=own")
    async with anyio.create_task_group() as background:
        shell = CommandRunner(ENVIRON, background, tmp_path, options=options)
        ran = await run(shell, "bash -c 'echo $WORD; echo err >&2; cat; printf end; exit 3'")
        assert (ran.output.text, ran.exit_code) == ("own\nerr\nend", 3)
        assert ran.alone is not None
        assert "stubborn-bash ended as it started" in ran.alone
        assert not ran.shell_ended
        assert ran.lost is None
        ran = await run(shell, "sh -c 'cd /; echo x > /dev/fd/71'", place="bare")
        assert ran.exit_code != 0
        assert ran.cwd == tmp_path
        assert shell.state(tmp_path).changes == ()
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


async def test_it_is_tried_again_later_whether_a_shell_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "_ALONE_SECONDS", 0.0)
    path = no_persistent_bash(tmp_path)
    async with anyio.create_task_group() as background:
        shell = CommandRunner(ENVIRON, background, tmp_path, options=ShellOptions(path=path))
        assert (await run(shell, "kept=1")).alone is not None
        Path(path).write_text('#!/bin/bash\nexec /bin/bash "$@"\n')
        assert (await run(shell, "kept=2")).alone is None
        assert (await run(shell, "echo $kept")).output.text == "2\n"
        await shell.end_all(0.1)
        background.cancel_scope.cancel()


async def test_a_command_with_a_shell_of_its_own_is_limited_cancelled_and_leaves_nothing(tmp_path: Path) -> None:
    options = ShellOptions(path=no_persistent_bash(tmp_path))
    async with anyio.create_task_group() as background:
        shell = CommandRunner(ENVIRON, background, tmp_path, options=options)
        before = len(os.listdir("/proc/self/fd"))
        ran = await run(shell, "echo begun; trap '' INT TERM; (setsid sleep 60 &) ; sleep 60", seconds=0.3)
        assert ran.timed_out
        assert ran.output.text.startswith("begun\n")
        assert ran.left_running == ()
        await run(shell, "(trap '' INT; sleep 60); touch never", seconds=0.3)
        assert not (tmp_path / "never").exists()
        ran = await run(shell, "sleep 60 >/dev/null 2>&1 & echo started")
        assert ran.output.text == "started\n"
        assert len(ran.left_running) == 1
        with anyio.move_on_after(0.3):
            await run(shell, "exec sleep 60")
        assert (await run(shell, "echo on")).output.text == "on\n"
        await shell.end_all(0.1)
        await gone(ran.left_running[0])
        with anyio.fail_after(PATIENCE):
            while len(os.listdir("/proc/self/fd")) > before:  # a thread may still be closing the last one
                await anyio.sleep(0.01)
        background.cancel_scope.cancel()


async def test_a_shell_that_cannot_have_a_terminal_prints_into_a_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with anyio.create_task_group() as background:
        bash = tmp_path / "no-terminal"
        bash.write_text('#!/bin/bash\n[ -t 1 ] && exit 3\nexec /bin/bash "$@"\n')
        bash.chmod(0o755)
        shell = CommandRunner(ENVIRON, background, tmp_path, options=ShellOptions(path=str(bash)))
        await run(shell, "kept=1")
        ran = await run(shell, "test -t 1 || echo pipe $kept")
        assert ran.output.text == "pipe 1\n"
        assert ran.alone is None
        await shell.end_all(0.1)
        background.cancel_scope.cancel()
