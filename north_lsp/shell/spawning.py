"""Starting a shell: its terminal and pipes, the launcher that becomes it, and the file that it reads a command from.

Not with `ptyprocess` (0.7 was tried): it makes the terminal by forking North, which has threads and much memory, and
runs Python in the copy; the launcher exists so that nothing does that. It hands the terminal over as standard input as
well, where commands have a pipe, cannot hand over one that was opened before, and leaves output processing (OPOST) on.
"""

import contextlib
import fcntl
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from north_lsp.errors import ToolError
from north_lsp.shell.guardian import GUARDIAN

LAUNCHER = Path(__file__).with_name("launcher.py")
SCRIPT = ".north-command"
_ROWS, _COLUMNS = 40, 120


class StartFailed(ToolError):
    """A shell that is there, but does not do what a persistent one has to."""

    def __init__(self, problem: str) -> None:
        super().__init__("UNAVAILABLE", problem)


@dataclass(frozen=True, slots=True)
class Spawned:
    """A shell's process, and North's ends: of its terminal (or output pipe), of its input, of its reports."""

    process: "subprocess.Popen[bytes]"
    master: int
    stdin: int
    control: int


def spawn(
    argv: list[str],
    environ: dict[str, str],
    cwd: Path,
    sandbox: Mapping[str, Any] | None,
    output: Callable[[], tuple[int, int]],
) -> Spawned:
    """`output` makes North's end and the shell's. Raises StartFailed."""
    try:
        master, tty = output()
    except OSError:  # no terminal to be had: a pipe does it as well
        master, tty = os.pipe()
    stdin_read, stdin_write = os.pipe()
    control_read, control_write = os.pipe()
    ours, theirs = (master, stdin_write, control_read), (tty, stdin_read, control_write)
    if os.isatty(tty):
        _plain_terminal(tty)
    config: dict[str, Any] = {"tty": tty, "stdin": stdin_read, "control": control_write, "argv": argv}
    config["sandbox"] = None if sandbox is None else {**sandbox, "cwd": str(cwd)}
    try:
        with as_input(config) as given:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LAUNCHER)],
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=theirs,
                cwd=cwd,
                env=environ,
                start_new_session=True,
            )
    except OSError as error:
        for fd in (*ours, *theirs):
            os.close(fd)
        raise StartFailed(f"{argv[0]} could not be started: {error.strerror}") from None
    for fd in theirs:
        os.close(fd)
    for fd in ours:
        os.set_blocking(fd, False)
    GUARDIAN.hold(process.pid, ours)
    return Spawned(process, *ours)


@contextlib.contextmanager
def as_input(config: Mapping[str, Any]) -> Iterator[IO[bytes]]:
    """A file to read a JSON text from, which may be longer than an argument."""
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(config).encode())
        file.seek(0)
        yield file


def write_script(folder: Path, command: str) -> None:
    """Into a folder of our own: a few kilobytes are written faster than a thread is asked to. Raises ToolError."""
    script = folder / SCRIPT
    data = command.encode("utf-8", "surrogateescape") + b"\n"
    try:
        if not folder.is_dir() or folder.is_symlink():  # an earlier command did that
            folder.unlink(missing_ok=True)
            folder.mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
        if script.is_dir() and not script.is_symlink():
            shutil.rmtree(script)
        script.unlink(missing_ok=True)
        fd = os.open(script, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ToolError("IO_ERROR", f"the command cannot be handed to the shell: {error.strerror}") from None


def _plain_terminal(fd: int) -> None:
    """No echo, no changes to what is printed, a size that programs can work with."""
    settings = termios.tcgetattr(fd)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(fd, termios.TCSANOW, settings)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
