"""Process trees on a system without `/proc`, as macOS is: what `ps` shows below a shell is found and ended."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from north_lsp.shell import processes, tree


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


def test_where_nothing_tells_a_process_counts_as_running() -> None:
    assert processes.is_running(2**22 - 1)
    assert processes.is_asleep(1)
    assert not processes.is_halted(1)
    assert processes.environ_of(1) == []
    assert processes.started_at(1) == ""
