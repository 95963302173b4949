"""Process trees on a system without `/proc`, as macOS is: what `ps` shows below a shell is found and ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from north_lsp.shell import bash, guardian, processes, tree
from north_lsp.shell.environment import command_environment
from north_lsp.shell.runner import CommandRunner
from tests.support.patience import PATIENCE


@pytest.fixture(autouse=True)
def without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (processes, tree):
        monkeypatch.setattr(module, "PROC", tmp_path / "proc")


@pytest.fixture
def shell() -> Iterator["subprocess.Popen[bytes]"]:
    """A shell with a process below it, which has one, too."""
    command = "sh -c 'sleep 1000 & echo ready; wait' & wait"
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def test_what_a_shell_started_is_found_by_parents(shell: "subprocess.Popen[bytes]") -> None:
    found = tree.find_tree(shell.pid, "no-mark")
    assert len(set(found) - {shell.pid}) == 2
    assert found == sorted(found, reverse=True)
    assert tree.find_tree(None, "no-mark") == []


async def test_and_ended(shell: "subprocess.Popen[bytes]") -> None:
    def left() -> list[int]:
        shell.poll()  # a dead child stays in the table until somebody asks for it
        return [pid for pid in tree.find_tree(shell.pid, "no-mark") if pid != shell.pid or shell.returncode is None]

    await tree.end_tree(left)
    assert left() == []
    assert shell.returncode is not None  # 0 if its child was gone before it was asked itself


def test_what_ps_tells_of_a_process(shell: "subprocess.Popen[bytes]") -> None:
    since = processes.started_at(shell.pid)
    assert since.count("_") >= 4  # day, month, number, time, year
    assert since == processes.started_at(shell.pid)
    assert processes.is_running(shell.pid)
    assert not processes.is_halted(shell.pid)
    os.kill(shell.pid, signal.SIGSTOP)
    while not processes.is_halted(shell.pid):
        continue
    assert not processes.is_asleep(shell.pid)
    os.kill(shell.pid, signal.SIGCONT)
    assert processes.environ_of(shell.pid) == []


def test_what_is_gone_is_not_running() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    assert not processes.is_running(gone.pid)
    assert processes.started_at(gone.pid) == ""
    assert processes.is_running(1)  # another user's, or ours: it is there


def test_a_process_that_left_its_parent_is_found_by_its_group() -> None:
    command = "(sleep 1000 & echo $!); echo; exec sleep 1000"  # the parent is gone when the empty line comes
    with subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            orphan = int(process.stdout.readline())
            process.stdout.readline()
            assert set(processes.children_of(process.pid)) == {orphan}
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_what_has_ended_and_was_not_asked_for_is_not_listed() -> None:
    with subprocess.Popen(["bash", "-c", "exit"], start_new_session=True) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert processes.children_of(process.pid) == []
        assert tree.find_tree(process.pid, "no-mark") == []


def test_without_ps_nothing_is_found_and_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise FileNotFoundError("/bin/ps")

    monkeypatch.setattr(subprocess, "run", none)
    assert processes.children_of(os.getpid()) == []
    assert processes.started_at(os.getpid()) == ""
    assert processes.is_asleep(os.getpid())


GUARDED = """
import sys
from pathlib import Path
from north_lsp.shell import processes
processes.PROC = Path("/nonexistent")
from north_lsp.shell import guardian_process
guardian_process._QUIET_SECONDS = {quiet}
guardian_process.main()
"""


@pytest.mark.parametrize("quiet", [0, 1000], ids=["all is loaded before", "all is loaded then"])
def test_the_shell_of_a_north_that_is_gone_is_ended_with_what_it_started(
    monkeypatch: pytest.MonkeyPatch, shell: "subprocess.Popen[bytes]", quiet: int
) -> None:
    monkeypatch.setattr(guardian, "_COMMAND", (sys.executable, "-c", GUARDED.format(quiet=quiet)))
    monkeypatch.setattr(sys, "platform", "darwin")  # it makes its session itself
    watching = guardian.Guardian()
    with subprocess.Popen(["sleep", "1000"]) as other:
        ours, theirs = os.pipe()
        watching.hold(other.pid, ())
        watching.hold(shell.pid, (theirs,))
        watching.release(other.pid)
        os.close(theirs)
        assert watching._socket is not None
        assert watching._pid is not None
        below = processes.children_of(shell.pid)
        assert len(below) == 2
        watching._socket.close()  # as if North were killed
        assert os.read(ours, 1) == b""  # the guardian had the other end, and has ended
        os.close(ours)
        os.waitpid(watching._pid, 0)
        assert shell.wait() == -signal.SIGKILL
        assert not any(pid in processes.children_of(os.getpid()) for pid in below)
        assert other.poll() is None
        other.kill()


def test_the_guardian_is_not_in_norths_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    watching = guardian.Guardian()
    watching.hold(os.getpid(), ())
    watching.release(os.getpid())
    assert watching._pid is not None
    while os.getsid(watching._pid) != watching._pid:
        continue
    assert watching._socket is not None
    watching._socket.close()
    os.waitpid(watching._pid, 0)


async def test_the_directory_stays_as_the_shell_reports_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash, "PROC", tmp_path / "proc")
    for name in ("a b", "new\nline"):
        (tmp_path / name).mkdir()

    async def ignore(text: str) -> None:
        return None

    async with anyio.create_task_group() as background:
        runner = CommandRunner(command_environment(os.environ, frozenset()), background, tmp_path)
        for command, place in (("cd 'a b'", "a b"), ("true", "a b"), ("cd $'../new\nline'", "new\nline")):
            ran = await runner.run(command, None, PATIENCE, ignore)
            assert ran.cwd == tmp_path.resolve() / place
        assert (await runner.run("pwd", None, PATIENCE, ignore)).output.text == f"{tmp_path.resolve()}/new\nline\n"
        await runner.end_all(0.1)
        background.cancel_scope.cancel()
