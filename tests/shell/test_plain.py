"""Commands where no shell is kept, as on Windows: tried with the bash of the machine that runs the tests."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from north_lsp.errors import ToolError
from north_lsp.shell.options import ShellOptions
from north_lsp.shell.output import OutputSink
from north_lsp.shell.plain.programs import Program
from north_lsp.shell.plain.runner import PlainRunner
from north_lsp.shell.results import CommandResult
from tests.shell.test_jobs import ended
from tests.support.patience import PATIENCE

_BASH = Program("bash", shutil.which("bash") or "/bin/bash")


@asynccontextmanager
async def runner(
    folder: Path, program: Program | None = _BASH, options: ShellOptions | None = None
) -> AsyncIterator[PlainRunner]:
    async with anyio.create_task_group() as background:
        made = PlainRunner(dict(os.environ), background, folder, options or ShellOptions(), lambda: program)
        yield made
        with anyio.fail_after(PATIENCE):
            await made.end_all(0.1)
            background.cancel_scope.cancel()


async def run(made: PlainRunner, command: str, cwd: Path | None = None, seconds: float = PATIENCE) -> CommandResult:
    async def ignore(text: str) -> None:
        return None

    return await made.run(command, cwd, seconds, ignore)


async def test_output_and_exit_code_arrive(tmp_path: Path) -> None:
    async with runner(tmp_path) as made:
        ran = await run(made, 'echo out; echo err >&2; read line; echo "[$line]"; exit 3')
        assert (ran.exit_code, ran.output.text) == (3, "out\nerr\n[]\n")
        assert (await run(made, "if then")).exit_code == 2


async def test_the_directory_stays_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    async with runner(tmp_path) as made:
        ran = await run(made, 'cd "it\'s a folder"; export WORD=kept; exit 4')
        assert (ran.exit_code, ran.moved, ran.cwd) == (4, True, folder)
        ran = await run(made, 'pwd; echo "[$WORD]"')
        assert ran.output.text == f"{folder}\n[]\n"
        assert made.state(Path("/")).cwd == folder
        ran = await run(made, "cd /", cwd=tmp_path)
        assert (ran.moved, ran.cwd) == (False, tmp_path)
        assert await made.begin_anew("the leaf was moved")
        ran = await run(made, "pwd")
        assert (ran.output.text, ran.lost) == (f"{tmp_path}\n", "the leaf was moved")


async def test_a_directory_that_is_gone_is_left(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with runner(tmp_path) as made:
        await run(made, "cd sub")
        (tmp_path / "sub").rmdir()
        assert (await run(made, "pwd")).output.text == f"{tmp_path}\n"
        with pytest.raises(ToolError, match="does not exist"):
            await run(made, "pwd", cwd=tmp_path / "sub")


async def test_output_is_seen_while_the_command_runs(tmp_path: Path) -> None:
    seen: list[str] = []

    async def see(text: str) -> None:
        if "first" in text:
            (tmp_path / "go").touch()
        seen.append(text)

    async with runner(tmp_path) as made:
        ran = await made.run("echo first; until [ -e go ]; do sleep 0.01; done; echo last", None, PATIENCE, see)
    assert ran.output.text == "first\nlast\n"
    assert seen[0] == "first"


async def test_the_time_limit_ends_all_of_it(tmp_path: Path) -> None:
    async with runner(tmp_path) as made:
        ran = await run(made, "echo before; (sleep 600; echo never) | cat", seconds=0.3)
        assert (ran.timed_out, ran.exit_code, ran.output.text) == (True, None, "before\n")


async def test_enough_lines_end_it(tmp_path: Path) -> None:
    async def ignore(text: str) -> None:
        return None

    async with runner(tmp_path) as made:
        ran = await made.run("yes", None, PATIENCE, ignore, sink=OutputSink(), enough=3)
    assert (ran.enough, ran.timed_out) == (True, False)
    assert ran.output.text.startswith("y\ny\n")


async def test_a_cancelled_command_is_ended_and_the_next_one_runs(tmp_path: Path) -> None:
    async with runner(tmp_path) as made:
        with anyio.move_on_after(0.3):
            await run(made, "touch began; sleep 600; touch never")
        assert (await run(made, "echo next")).output.text == "next\n"
    assert not (tmp_path / "never").exists()


async def test_what_holds_the_output_open_does_not_hold_the_answer(tmp_path: Path) -> None:
    async with runner(tmp_path) as made:
        ran = await run(made, "sleep 600 & echo done")
        assert (ran.exit_code, ran.output.text) == (0, "done\n")


async def test_a_job_reads_what_it_is_sent_and_is_ended(tmp_path: Path) -> None:
    async with runner(tmp_path) as made:
        job = await made.jobs.begin('echo ready; read line; echo "got $line"; exit 5', "session", tmp_path)
        made.jobs.send(job, "words\n")
        await ended(job)
        assert (job.exit_code, made.jobs.output(job, 10)) == (5, "ready\ngot words")
        job = await made.jobs.begin("sleep 600", "session", tmp_path)
        with anyio.fail_after(PATIENCE):
            await made.jobs.kill(job)
        assert job.killed
        with pytest.raises(ToolError, match="nothing outlives North"):
            await made.jobs.begin("sleep 1", "session", tmp_path, keep=(1, tmp_path / "out"))


async def test_jobs_and_directory_go_on_in_the_next_session(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with runner(tmp_path) as one, runner(tmp_path) as other:
        await run(one, "cd sub")
        job = await one.jobs.begin("sleep 600", "session", tmp_path)
        other.take_over(one)
        assert other.state(tmp_path).cwd == tmp_path / "sub"
        assert other.jobs.all() == [job]
        assert one.jobs.all() == []


async def test_no_folder_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    async with runner(tmp_path) as made:
        await run(made, "echo; sleep 600 &")
        job = await made.jobs.begin("true", "session", tmp_path)
        await ended(job)
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.parametrize("wanted", [None, "C:\\none.exe"])
async def test_without_a_shell_the_user_is_told_what_to_do(tmp_path: Path, wanted: str | None) -> None:
    async with runner(tmp_path, None, ShellOptions(path=wanted)) as made:
        with pytest.raises(ToolError, match=r"install Git for Windows"):
            await run(made, "true")


async def test_a_shell_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    async with runner(tmp_path, Program("bash", str(tmp_path / "none"))) as made:
        with pytest.raises(ToolError, match="could not be started"):
            await run(made, "true")
