"""Starts a shell: its terminal and pipes, the launcher that becomes it, and the file that it reads a command from.

It does not use `ptyprocess` (0.7 was tried): that makes the terminal by forking North, which has threads and much
memory, and runs Python in the copy; the launcher exists so that nothing does that. It also passes the terminal as
standard input, where commands have a pipe, cannot pass one that was opened before, and leaves output processing (OPOST)
on.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.guardian import GUARDIAN

_RUN = "import sys; sys.path.append(sys.argv[1]); import launcher; launcher.run(sys.argv[2:])"
LAUNCHER = (sys.executable, "-I", "-S", "-c", _RUN, os.path.dirname(__file__))
"""The command line of `launcher.py`. It is imported, since Python keeps no byte code of what it runs as a script."""
SCRIPT = ".north-command"
_ROWS, _COLUMNS = 40, 120


class StartFailed(ToolError):
    """Bash was found, but does not work as a persistent shell."""

    def __init__(self, problem: str) -> None:
        super().__init__("UNAVAILABLE", problem)


@dataclass(frozen=True, slots=True)
class Spawned:
    """A shell's process, and North's ends: of its terminal (or output pipe), of its input, of its reports."""

    process: subprocess.Popen[bytes]
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
    """Start the launcher that becomes the shell. `output` opens North's end and the shell's end. Raises StartFailed."""
    try:
        master, tty = output()
    except OSError:  # no terminal is available: a pipe works as well
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
                LAUNCHER,
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
        systems.set_blocking(fd, blocking=False)
    GUARDIAN.hold(process.pid, ours)
    return Spawned(process, *ours)


@contextlib.contextmanager
def as_input(config: Mapping[str, Any]) -> Iterator[IO[bytes]]:
    """Provide a file to read JSON from, which may be longer than an argument."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(config).encode())
        file.seek(0)
        yield file


def write_script(folder: Path, command: str) -> None:
    """Write a command to the shell's own folder. Does not use a thread, since asking one takes longer than writing a
    few kilobytes. Raises ToolError."""
    script = folder / SCRIPT
    data = command.encode("utf-8", "surrogateescape") + b"\n"
    try:
        if not folder.is_dir() or folder.is_symlink():  # an earlier command changed it
            folder.unlink(missing_ok=True)
            folder.mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
        if script.is_dir() and not script.is_symlink():
            shutil.rmtree(script)
        script.unlink(missing_ok=True)
        fd = os.open(script, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ToolError("IO_ERROR", f"the command cannot be handed to the shell: {error.strerror}") from None


def _plain_terminal(fd: int) -> None:
    """Set up a terminal: no echo, no changes to the output, a size that programs can work with."""
    if sys.platform == "win32":
        return
    import fcntl
    import termios

    settings = termios.tcgetattr(fd)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(fd, termios.TCSANOW, settings)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
