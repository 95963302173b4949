"""Commands that behave and commands that do not; real processes, nothing left behind."""

import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest

from north_lsp.shell.environment import command_environment
from north_lsp.shell.runner import CommandRunner, Ran
from north_lsp.shell.tree import MARK, find_tree


@asynccontextmanager
async def runner() -> AsyncIterator[CommandRunner]:
    async with anyio.create_task_group() as background:
        runner = CommandRunner(command_environment(os.environ, frozenset()), background)
        yield runner
        await runner.end_all(0.2)
        background.cancel_scope.cancel()


async def run(runner: CommandRunner, command: str, cwd: Path, seconds: float = 30) -> Ran:
    async def ignore(text: str) -> None:
        return None

    return await runner.run(command, cwd, seconds, ignore)


async def gone(pid: int) -> None:
    with anyio.fail_after(5):
        while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1][:3]:
            await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "code", "text"),
    [
        ("echo hi; echo there >&2", 0, "hi\nthere\n"),
        ("exit 3", 3, ""),
        ("cat", 0, ""),
        ("kill -9 $$", -9, ""),
        ("if then", 2, None),
        ("exec echo replaced", 0, "replaced\n"),
        ("exec >&- 2>&-; exit 4", 4, ""),
        ("printf 'no end'", 0, "no end"),
        ("set -e; false; echo never", 1, ""),
        ("trap '' TERM INT; echo trapped", 0, "trapped\n"),
        ("echo '__NORTH_END__'", 0, "__NORTH_END__\n"),
        ("tty || true", 0, "not a tty\n"),
    ],
)
async def test_a_command_ends_as_bash_says(tmp_path: Path, command: str, code: int, text: str | None) -> None:
    async with runner() as shell:
        ran = await run(shell, command, tmp_path)
        assert ran.exit_code == code
        assert text is None or ran.output.text == text
        assert not ran.timed_out
        assert (await run(shell, "pwd", tmp_path)).output.text.strip() == str(tmp_path)


async def test_credentials_and_pagers_are_not_inherited(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "ANTHROPIC_API_KEY": "secret", "BASH_ENV": "/x", "HOME": "/h"}
    async with anyio.create_task_group() as background:
        shell = CommandRunner(command_environment(environ, frozenset({"ANTHROPIC_API_KEY"})), background)
        text = (await run(shell, "env", tmp_path)).output.text
        assert "secret" not in text
        assert "BASH_ENV" not in text
        assert "PAGER=cat" in text
        assert "HOME=/h" in text


async def test_the_time_limit_ends_the_command_and_keeps_its_output(tmp_path: Path) -> None:
    async with runner() as shell:
        ran = await run(shell, "echo begun; sleep 60", tmp_path, 0.3)
        assert ran.timed_out
        assert ran.output.text == "begun\n"
        assert ran.left_running == ()


@pytest.mark.parametrize(
    "command",
    [
        "echo $$; sleep 60",
        "trap '' TERM INT HUP; echo $$; while :; do sleep 1; done",
        "(setsid sh -c 'echo $$; exec sleep 60' &) ; sleep 60",
        "setsid nohup sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & sleep 60",
    ],
)
async def test_a_cancelled_command_answers_at_once_and_leaves_no_process(tmp_path: Path, command: str) -> None:
    pids: list[int] = []
    async with runner() as shell:
        started = anyio.Event()

        async def on_output(text: str) -> None:
            if text.strip().isdecimal():
                pids.append(int(text))
                started.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(shell.run, command, tmp_path, 60, on_output))
            with anyio.fail_after(5):
                await started.wait()
            before = time.monotonic()
            tasks.cancel_scope.cancel()
        assert time.monotonic() - before < 1.0
        await gone(pids[0])


async def test_a_process_left_in_the_background_is_told_and_ended_with_the_session(tmp_path: Path) -> None:
    async with runner() as shell:
        ran = await run(shell, "sleep 60 & echo started", tmp_path)
        assert ran.exit_code == 0
        assert ran.output.text == "started\n"
        assert len(ran.left_running) == 1
        await shell.end_all(0.2)
        await gone(ran.left_running[0])


async def test_a_process_that_does_not_belong_to_the_command_is_left_alone(tmp_path: Path) -> None:
    other = await anyio.open_process(["sleep", "60"], env={"PATH": os.environ["PATH"], MARK: "other"})
    try:
        async with runner() as shell:
            await run(shell, "sleep 60", tmp_path, 0.2)
        assert other.returncode is None
        assert other.pid in find_tree(None, "other")
    finally:
        os.kill(other.pid, signal.SIGKILL)
        await other.aclose()
