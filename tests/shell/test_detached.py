"""Jobs that go on after North: found again, read, ended; nothing of them stays behind."""

import json
import os
import shlex
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from north_lsp.agent.shell.setup import sandbox_of
from north_lsp.errors import ToolError
from north_lsp.shell import detached as kept
from north_lsp.shell import job_supervisor as holder
from north_lsp.shell.detached import DetachedProcess, find_detached
from north_lsp.shell.environment import command_environment
from north_lsp.shell.jobs import Job
from north_lsp.shell.options import ShellOptions
from north_lsp.shell.runner import CommandRunner
from north_lsp.shell.sandbox import Sandbox
from north_lsp.storage.settings import Settings
from north_lsp.workspace.guards.sandbox_guards import Held
from tests.shell.test_runner import gone, is_gone, run
from tests.support.patience import PATIENCE


@asynccontextmanager
async def north(folder: Path, sandbox: Sandbox | None = None) -> AsyncIterator[CommandRunner]:
    """One life of North; what is kept goes on behind it."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    async with anyio.create_task_group() as background:
        environ = command_environment(os.environ, frozenset())
        options = ShellOptions(prefix="env OWN=1")
        made = CommandRunner(environ, background, work, sandbox, options=options, kept=folder / "records")
        yield made
        with anyio.fail_after(PATIENCE):
            await made.end_all(0.1)
        background.cancel_scope.cancel()


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    yield
    for one in find_detached(tmp_path / "records"):
        DetachedProcess(one, from_end=True).end_now()


async def keep(shell: CommandRunner, folder: Path, command: str) -> Job:
    output = folder / "1.job.log"
    output.touch()
    return await shell.jobs.begin(f"bash -c {shlex.quote(command)}", "session", folder / "work", keep=(1, output))


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():
            await anyio.sleep(0.02)


async def ended(job: Job) -> Job:
    with anyio.fail_after(PATIENCE):
        await job.ended.wait()
    return job


async def test_it_goes_on_and_is_found_and_ended_by_the_next_north(tmp_path: Path) -> None:
    go = tmp_path / "go"
    async with north(tmp_path) as shell:
        await run(shell, "true; export WORD=kept")
        before = len(os.listdir("/proc/self/fd"))
        job = await keep(
            shell, tmp_path, f"echo up $WORD $OWN; until [ -e {go} ]; do sleep 0.02; done; echo on; sleep 60"
        )
        assert shell.jobs.output(job, 9) == "up kept 1"
        assert job.sink.number == 1
        assert "outlives North" in job.state()
        with pytest.raises(ToolError, match="has no input"):
            shell.jobs.send(job, "x")
        assert len(os.listdir("/proc/self/fd")) <= before
    assert not is_gone(job.pid)
    assert shell.jobs.all() == []
    assert shell.jobs.take_news() == []
    go.touch()
    await until(lambda: "on" in (tmp_path / "1.job.log").read_text())
    async with north(tmp_path) as shell:
        (told,) = await shell.find_detached()
        assert f"still runs: job 1, pid {job.pid}" in told
        assert shell.jobs.take_news() == [told]
        assert await shell.find_detached() == []
        again = shell.jobs.find("1")
        await until(lambda: shell.jobs.output(again, 9) == "up kept 1\non")
        with anyio.fail_after(PATIENCE):
            await shell.jobs.kill(again)
        assert again.state().endswith("killed")
        await gone(job.pid)
    assert find_detached(tmp_path / "records") == []


async def test_how_it_ended_is_told_by_the_next_north_once(tmp_path: Path) -> None:
    go = tmp_path / "go"
    async with north(tmp_path) as shell:
        job = await keep(shell, tmp_path, f"echo first; until [ -e {go} ]; do sleep 0.02; done; echo last; exit 3")
    go.touch()
    await gone(job.pid)
    async with north(tmp_path) as shell:
        (told,) = await shell.find_detached()
        assert "has ended: exit code 3" in told
        assert shell.jobs.all() == []
    async with north(tmp_path) as shell:
        assert await shell.find_detached() == []
    assert (tmp_path / "1.job.log").read_text() == "first\nlast\n"


async def test_it_ends_with_all_that_it_left_running(tmp_path: Path) -> None:
    async with north(tmp_path) as shell:
        job = await keep(shell, tmp_path, "(setsid sh -c 'sleep 0.3; echo late' &); exit 4")
        await ended(job)
        assert (shell.jobs.output(job, 9), job.exit_code) == ("late", 4)
        assert "exit code 4" in shell.jobs.take_news()[0]
        job = await keep(shell, tmp_path, "kill -9 $$")
        assert (await ended(job)).exit_code == 137
        (tmp_path / "1.job.log").write_text("")
        stubborn = await keep(
            shell, tmp_path, "trap '' INT TERM HUP; echo $$; (setsid sleep 60 &); while :; do sleep 1; done"
        )
        pid = int(shell.jobs.output(stubborn, 1))
        with anyio.fail_after(PATIENCE):
            await shell.jobs.kill(stubborn)
        await gone(pid)
        await gone(stubborn.pid)


async def test_a_signal_for_its_holder_is_for_the_command(tmp_path: Path) -> None:
    async with north(tmp_path) as shell:
        job = await keep(shell, tmp_path, "trap 'echo told; exit 5' TERM; echo up; while :; do sleep 0.02; done")
        await until(lambda: "up" in shell.jobs.output(job, 9))
        os.kill(job.pid, 15)
        await ended(job)
        assert "told" in shell.jobs.output(job, 9)


async def test_a_flood_is_bounded_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MAX_OUTPUT_BYTES", 100_000)
    async with north(tmp_path) as shell:
        job = await ended(await keep(shell, tmp_path, "head -c 5000000 /dev/zero | tr '\\0' x; exit 6"))
        assert job.exit_code == 6
    text = (tmp_path / "1.job.log").read_text()
    assert text.startswith("x" * 100_000 + "\n… cut")
    assert len(text) < 100_100


async def test_without_a_sandbox_no_job_runs_where_nobody_was_asked(tmp_path: Path) -> None:
    async with north(tmp_path) as shell:
        (output := tmp_path / "1.job.log").touch()
        for keep_at in (None, (1, output)):
            with pytest.raises(ToolError) as refused:
                await shell.jobs.begin("touch ran", "contained", tmp_path / "work", keep=keep_at)
            assert refused.value.code == "UNAVAILABLE"
        assert not (tmp_path / "work/ran").exists()


async def test_it_is_held_by_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    box = Sandbox((tmp_path / "work",), os.environ, lambda: Held({}, {}, {}))
    async with north(tmp_path, box) as shell:
        command = f"touch inside $TMPDIR/own && echo made; touch {tmp_path}/outside; echo done"
        job = await ended(await keep(shell, tmp_path, command))
        assert shell.jobs.output(job, 9).startswith("made\n")
        assert shell.jobs.output(job, 9).endswith("\ndone")
    assert (tmp_path / "work/inside").exists()
    assert not (tmp_path / "outside").exists()


async def test_what_cannot_be_started_leaves_no_record(tmp_path: Path) -> None:
    async with north(tmp_path) as shell:
        (tmp_path / "records").write_text("in the way")
        with pytest.raises(ToolError, match="cannot be started"):
            await keep(shell, tmp_path, "true")
        assert shell.jobs.all() == []
        (tmp_path / "records").unlink()
        (tmp_path / "records" / "damaged").mkdir(parents=True)
        (tmp_path / "records" / "damaged" / "job.json").write_text("[1")
        (tmp_path / "records" / "foreign").mkdir()
        (tmp_path / "records" / "foreign" / "job.json").write_text('{"pid": 1}')
        assert await shell.find_detached() == []


async def test_another_process_with_its_number_is_left_alone(tmp_path: Path) -> None:
    record = tmp_path / "records" / "one"
    record.mkdir(parents=True)
    (record / "lock").touch()
    content = {"command": "sleep", "cwd": "/", "output": str(tmp_path / "x"), "pid": os.getpid()}
    (record / "job.json").write_text(json.dumps(content))
    async with north(tmp_path) as shell:
        (told,) = await shell.find_detached()
        assert "missing exit status" in told
        assert shell.jobs.all() == []


def test_the_supervisor_imports_nothing_of_ours() -> None:
    assert "north_lsp" not in Path(holder.__file__).read_text()


async def test_what_a_kept_job_in_the_sandbox_makes_later_is_taken_away(tmp_path: Path) -> None:
    go, work = tmp_path / "work" / "go", tmp_path / "work"
    work.mkdir()
    environ = command_environment(os.environ, frozenset())
    sandbox = sandbox_of(Settings(sandbox="workspace"), (Path(os.path.realpath(work)),), environ)
    async with north(tmp_path, sandbox) as shell:
        assert shell.containment is not None
        taken: list[str] = []
        shell.containment.on_taken = lambda found: taken.extend(one.path.name for one in found)
        job = await keep(
            shell, tmp_path, "echo up; until [ -e go ]; do sleep 0.02; done; echo x > .envrc; echo on; sleep 60"
        )
        go.touch()
        await until(lambda: taken)
        assert taken == [".envrc"]
        assert not (work / ".envrc").exists()
        job.process.end_now()
        await ended(job)
