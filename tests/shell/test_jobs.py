"""Commands in the background: what they print, reading their input, waiting for them, and their end."""

import os
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from north_lsp.errors import ToolError
from north_lsp.shell import jobs as module
from north_lsp.shell.environment import command_environment
from north_lsp.shell.jobs import Job, Jobs
from north_lsp.shell.options import ShellOptions
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.artifacts import Artifacts
from tests.shell.test_pool import no_persistent_bash
from tests.shell.test_runner import gone, is_gone, run
from tests.support.patience import PATIENCE


@asynccontextmanager
async def runner(folder: Path, options: ShellOptions | None = None) -> AsyncIterator[CommandRunner]:
    async with anyio.create_task_group() as background:
        made = CommandRunner(command_environment(os.environ, frozenset()), background, folder, options=options)
        yield made
        with anyio.fail_after(PATIENCE):
            await made.end_all(0.1)
        background.cancel_scope.cancel()


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE_SECONDS", 0.3)


async def ended(job: Job) -> Job:
    with anyio.fail_after(PATIENCE):
        await job.ended.wait()
    return job


async def test_a_job_runs_beside_the_shell_in_its_directory_with_its_variables(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with runner(tmp_path) as shell:
        await run(shell, "cd sub; export WORD=kept; export PATH=$PATH:/own")
        job = await shell.jobs.begin("pwd; echo $WORD; echo ${PATH##*:}; sleep 60", "session", tmp_path / "sub")
        assert job.running
        assert shell.jobs.output(job, 10) == f"{tmp_path}/sub\nkept\n/own"
        assert (await run(shell, "echo free")).output.text == "free\n"
        clean = await shell.jobs.begin("echo ${PATH##*:} $WORD", "bare", tmp_path)
        assert shell.jobs.output(await ended(clean), 10) not in ("/own kept", "")
        assert shell.jobs.output(clean, 10).endswith(" kept")


async def test_the_end_of_a_job_is_told_once(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        job = await ended(await shell.jobs.begin("echo out; exit 3", "session", tmp_path))
        assert job.exit_code == 3
        assert re.fullmatch(r"job 1 \(`echo out; exit 3`\) ended after \d+ s: exit code 3", shell.jobs.take_news()[0])
        assert shell.jobs.take_news() == []


async def test_the_whole_output_goes_to_an_artifact(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "kept")
    async with runner(tmp_path) as shell:
        job = await shell.jobs.begin("seq 100000", "session", tmp_path, lambda: artifacts.stream("job"))
        await ended(job)
        assert job.sink.number == 1
        assert artifacts.read(1).split() == [str(number) for number in range(1, 100001)]
        assert shell.jobs.output(job, 2) == "99999\n100000"


async def test_a_job_reads_what_it_is_sent(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        job = await shell.jobs.begin("echo ask; read x; echo got $x; read y; echo and $y", "session", tmp_path)
        shell.jobs.send(job, "one\n")
        shell.jobs.send(job, "two\n")
        await ended(job)
        assert shell.jobs.output(job, 9) == "ask\ngot one\nand two"
        with pytest.raises(ToolError, match="ended"):
            shell.jobs.send(job, "three\n")
        job = await shell.jobs.begin("echo deaf; sleep 60", "session", tmp_path)
        with pytest.raises(ToolError, match="does not read"):
            shell.jobs.send(job, "x" * 1_000_000)


async def test_waiting_for_a_line_a_port_the_end_or_in_vain(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        jobs = shell.jobs
        job = await jobs.begin("echo begun; read x; echo ready on 1; read x; exit 2", "session", tmp_path)
        assert "none of that happened within 0.1 s" in await jobs.wait(job, 0.1, lambda text: "ready on" in text, None)
        jobs.send(job, "\n")
        assert "the pattern was found" in await jobs.wait(job, 10, lambda text: "ready on" in text, None)
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            assert f"port {port} is open" in await jobs.wait(job, 10, None, port)
        assert "none of that happened" in await jobs.wait(job, 0.1, None, port)
        jobs.send(job, "\n")
        assert "exit code 2" in await jobs.wait(job, 10, None, None)


@pytest.mark.parametrize(
    "command",
    [
        "echo $BASHPID; sleep 60",
        "sh -c 'trap \"\" TERM INT HUP; echo $$; while :; do sleep 1; done'",
        "(setsid sh -c 'echo $$; exec sleep 60' &) ; sleep 60",
        "sleep 60 & echo $!",
    ],
)
async def test_a_killed_job_leaves_no_process(tmp_path: Path, command: str) -> None:
    async with runner(tmp_path) as shell:
        job = await shell.jobs.begin(command, "session", tmp_path)
        pid = int(shell.jobs.output(job, 1))
        assert job.running
        with anyio.fail_after(PATIENCE):
            await shell.jobs.kill(job)
            await shell.jobs.kill(job)
        assert not job.running
        await gone(pid)
        assert shell.jobs.take_news() == []


async def test_jobs_end_with_the_session_and_only_eight_run(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        jobs = [await shell.jobs.begin(f"echo {number}; sleep 60", "session", tmp_path) for number in range(8)]
        with pytest.raises(ToolError, match="8 jobs are already running"):
            await shell.jobs.begin("echo nine", "session", tmp_path)
        with pytest.raises(ToolError, match="there is no job '99'") as error:
            shell.jobs.find("99")
        assert "8 (running" in str(error.value.hint)
        pids = [job.pid for job in jobs]
        with anyio.fail_after(PATIENCE):
            await shell.end_all(0.1)
        assert all(is_gone(pid) for pid in pids)


async def test_a_job_that_cannot_start_is_none(tmp_path: Path) -> None:
    async with runner(tmp_path) as shell:
        with pytest.raises(ToolError, match="does not exist"):
            await shell.jobs.begin("true", "session", tmp_path / "nowhere")
        assert isinstance(shell.jobs, Jobs)
        assert shell.jobs.all() == []


async def test_jobs_where_no_shell_is_kept(tmp_path: Path) -> None:
    async with runner(tmp_path, ShellOptions(persistent=False, prefix="env WORD=own")) as shell:
        await run(shell, "true")
        job = await shell.jobs.begin("bash -c 'echo $WORD; read x; echo $x'", "session", tmp_path)
        await run(shell, "true")
        shell.jobs.send(job, "more\n")
        await ended(job)
        assert shell.jobs.output(job, 9) == "own\nmore"


async def test_jobs_where_no_shell_can_be_kept_have_a_bash_of_their_own(tmp_path: Path) -> None:
    async with runner(tmp_path, ShellOptions(path=no_persistent_bash(tmp_path))) as shell:
        before = len(os.listdir("/proc/self/fd"))
        assert (await run(shell, "true")).alone is not None
        job = await shell.jobs.begin("echo ask; read x; echo got $x; sleep 60 & exit 3", "session", tmp_path)
        assert shell.jobs.output(job, 9) == "ask"
        shell.jobs.send(job, "one\n")
        await ended(job)
        assert (shell.jobs.output(job, 9), job.exit_code) == ("ask\ngot one", 3)
        job = await ended(await shell.jobs.begin("(sleep 0.2; echo late) & (exit 4)", "session", tmp_path))
        assert (shell.jobs.output(job, 9), job.exit_code) == ("late", 4)
        job = await ended(await shell.jobs.begin("if", "session", tmp_path))
        assert "syntax error" in shell.jobs.output(job, 9)
        job = await shell.jobs.begin(
            "trap '' INT TERM; (setsid sleep 60 &); echo $$; while :; do sleep 1; done", "session", tmp_path
        )
        pid = int(shell.jobs.output(job, 1))
        with anyio.fail_after(PATIENCE):
            await shell.jobs.kill(job)
        await gone(pid)
        last = await shell.jobs.begin("exec >&- 2>&-; sleep 60", "session", tmp_path)
        with anyio.fail_after(PATIENCE):
            await shell.end_all(0.1)
        assert is_gone(last.pid)
        assert len(os.listdir("/proc/self/fd")) <= before
