"""Ends what a killed North leaves behind: its shells and everything that they started.

A separate process also holds the shells' descriptors, so that the shells do not notice that North is gone and still
have below them whatever their commands sent into the background; then it ends them all. It learns of North's end,
however that came, because North's end of the connection closes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence

from north_lsp import systems
from north_lsp.shell.processes import children_of, end_now, started_at

_COMMAND = (sys.executable, "-I", "-c", "from north_lsp.shell.guardian import main; main()")
_MESSAGE = 64  # the length of each: macOS keeps no bounds between messages on such a connection
_DESCRIPTORS = 3


class Guardian:
    """North's side; one for each process. Never raises: if it fails, what is left behind just continues."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._pid: int | None = None

    def start(self) -> None:
        """Start the guardian's process unless it is running."""
        with self._lock, contextlib.suppress(OSError):
            self._start()

    def hold(self, pid: int, descriptors: Sequence[int]) -> None:
        """Guard a shell; `descriptors` are North's ends of its channels. May start a process: call it on a thread. On
        Windows nothing is needed: what North starts there ends with it."""
        if sys.platform == "win32":
            return
        self._tell(f"hold {pid} {started_at(pid)}", descriptors)

    def release(self, pid: int) -> None:
        """Stop guarding a shell that has ended or is about to."""
        if self._socket is not None:
            self._tell(f"release {pid}", ())

    def _tell(self, text: str, descriptors: Sequence[int]) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._start()
            if sys.platform != "win32" and self._socket is not None:
                data = text.encode().ljust(_MESSAGE)
                sent = socket.send_fds(self._socket, [data], descriptors)
                self._socket.sendall(data[sent:])

    def _start(self) -> None:
        if sys.platform == "win32":
            return
        if self._pid is not None:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(self._pid, os.WNOHANG)[0] == 0:
                    return
        if self._socket is not None:
            self._socket.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            theirs.set_inheritable(True)
            nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
            argv = [*_COMMAND, str(theirs.fileno())]
            own = (
                sys.platform == "linux"
            )  # elsewhere it makes its session itself, since not every Python can ask for one
            self._pid = os.posix_spawn(argv[0], argv, os.environ, file_actions=nothing, setsid=own)
        self._socket = ours


GUARDIAN = Guardian()


def main() -> None:
    """Guard the shells of one North until its end of the connection closes, then end them."""
    if sys.platform == "win32":
        return
    for number in (signal.SIGINT, signal.SIGTERM, systems.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.setsid()  # a signal to North's group or terminal is not for it
    os.chdir("/")
    held: dict[int, tuple[str, list[int]]] = {}
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        while True:
            try:
                message, descriptors = _next(connection)
            except OSError:
                break
            if len(message) < _MESSAGE:
                break
            word, pid, *since = message.decode().split()
            for descriptor in held.pop(int(pid), ("", []))[1]:
                os.close(descriptor)
            if word == "hold":
                held[int(pid)] = (since[0] if since else "", list(descriptors))
    end_now(lambda: [one for pid, (since, _) in held.items() for one in _tree(pid, since)])


def _next(connection: socket.socket) -> tuple[bytes, list[int]]:
    """Return the next message with its descriptors; a shorter one at the connection's end. Raises OSError."""
    if sys.platform == "win32":
        return b"", []
    message, descriptors, _, _ = socket.recv_fds(connection, _MESSAGE, _DESCRIPTORS)
    while message and len(message) < _MESSAGE and (more := connection.recv(_MESSAGE - len(message))):
        message += more
    return message, descriptors


def _tree(pid: int, since: str) -> list[int]:
    """Return a shell and the processes below it; empty if the process id now belongs to another process."""
    return [*children_of(pid), pid] if since and started_at(pid) == since else []
