"""Has what a killed North leaves behind ended: its shells and everything that they started.

A separate process (`guardian_process.py`) also holds the shells' descriptors, so that the shells do not notice that
North is gone and still have below them whatever their commands sent into the background; then it ends them all. It
learns of North's end, however that came, because North's end of the connection closes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Sequence

from north_lsp.shell.guardian_process import MESSAGE
from north_lsp.shell.processes import started_at

_RUN = "import sys; sys.path.append(sys.argv[1]); import guardian_process; guardian_process.main()"
_COMMAND = (sys.executable, "-I", "-S", "-c", _RUN, os.path.dirname(__file__))
"""It is imported, since Python keeps no byte code of what it runs as a script."""


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
                data = text.encode().ljust(MESSAGE)
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
