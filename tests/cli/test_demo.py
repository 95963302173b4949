"""The demonstration, in a real terminal and out of it."""

import os
import pty
import select
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.world import SERVER
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Fail, answer


def environ(folder: Path, **more: str) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("NORTH_", "ANTHROPIC_", "OPENAI_"))
    }
    return kept | {f"NORTH_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")} | more


class Screen:
    """`north-lsp demo` in a terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.text = ""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # what runs in the background may have been told to ignore it
            command = [sys.executable, "-m", "north_lsp", "demo", *arguments]
            os.execve(command[0], command, environ(folder, TERM="dumb", NO_COLOR="1"))

    def wait_for(self, wanted: str) -> None:
        while wanted not in self.text:
            assert self._read(), f"{wanted!r} did not come: {self.text}"

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def end(self) -> int:
        while self._read():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._terminal], [], [], PATIENCE)
        assert ready, f"nothing came for {PATIENCE} s: {self.text}"
        try:
            data = os.read(self._terminal, 65536)
        except OSError:
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)


def test_a_turn_is_shown_and_asked_about(tmp_path: Path) -> None:
    screen = Screen(tmp_path)
    screen.wait_for("(Ctrl-D rejects): ")
    screen.type("x\n")
    before = screen.text
    screen.wait_for(before + "x\r\n    1-")
    for _ in range(2):
        screen.type("1\n")
    screen.wait_for("The turn ended (end_turn)")
    assert screen.end() == 0


@pytest.mark.parametrize("place", ["North: a whole turn", "(Ctrl-D rejects): "])
def test_ctrl_c_ends_it_in_words(tmp_path: Path, place: str) -> None:
    screen = Screen(tmp_path)
    screen.wait_for(place)
    screen.type("\x03")
    assert screen.end() == 128 + signal.SIGINT
    assert "Traceback" not in screen.text
    assert screen.text.count("\n") < 60


def run(folder: Path, command: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = command.replace("north-lsp", shlex.join(SERVER))
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environ(folder, **more),
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("command", ["demo --yes", "doctor", "models"])
def test_nobody_needs_to_read_to_the_end(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, f"north-lsp {command} | head -n 1")
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_results_are_shown_without_the_fences_of_their_markdown(tmp_path: Path) -> None:
    done = run(tmp_path, "north-lsp demo --yes")
    results = done.stdout.partition("Searching")[2].partition("I will replace")[0]
    assert "README.md:3: Greets people" in results
    assert "    ```" not in results
    assert "Next: `north-lsp login`" in done.stdout


def test_sockets_and_pipes_of_a_project_are_left_out(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("A project to show.\n")
    os.mkfifo(project / "fifo")
    os.mkfifo(project / "fifo.md")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(project / "s"))
        done = run(tmp_path, f"north-lsp demo --yes --path {project}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "[seen by North]" in done.stdout


def test_a_model_that_fails_is_no_success(tmp_path: Path, server: ModelServer) -> None:
    server.script(answer(Fail(401, "authentication_error", "invalid x-api-key")))
    more = {
        "ANTHROPIC_API_KEY": "test-key",
        "ANTHROPIC_BASE_URL": server.url,
        "NORTH_DISCOVERY": "off",
        "NORTH_NO_TITLE": "1",
    }
    done = run(tmp_path, "north-lsp demo --yes --model sonnet-4-5", **more)
    assert done.returncode == 1
    assert "check the key" in done.stdout
    assert done.stderr == ""


def test_the_end_of_the_input_refuses(tmp_path: Path) -> None:
    done = run(tmp_path, "north-lsp demo < /dev/null")
    assert "Traceback" not in done.stderr
    assert "The turn ended" in done.stdout
    (tmp_path / "answers").write_text("1\n1\n1\n")
    assert run(tmp_path, "north-lsp demo < answers").returncode == 0
