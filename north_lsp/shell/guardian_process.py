"""The process that ends what a killed North leaves behind (`guardian.py`). Imports none of North's modules at its
start, and little else: the first command of a shell runs at the same time."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence

MESSAGE = 64  # the length of each: macOS keeps no bounds between messages on such a connection
_DESCRIPTORS = 3
_QUIET_SECONDS = 1.0


def main() -> None:
    """Guard the shells of one North until its end of the connection closes, then end them. The last word of the command
    line is the descriptor of the connection."""
    if sys.platform == "win32":
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.setsid()  # a signal to North's group or terminal is not for it
    os.chdir("/")
    held: dict[int, tuple[str, list[int]]] = {}
    loaded = False
    with socket.socket(fileno=int(sys.argv[-1])) as connection:
        while True:
            if not loaded and not select.select([connection], [], [], _QUIET_SECONDS)[0]:
                _load()  # as soon as there is time, not when it is needed: North may be installed anew until then
                loaded = True
            try:
                message, descriptors = _next(connection)
            except OSError:
                break
            if len(message) < MESSAGE:
                break
            word, pid, *since = message.decode().split()
            for descriptor in held.pop(int(pid), ("", []))[1]:
                os.close(descriptor)
            if word == "hold":
                held[int(pid)] = (since[0] if since else "", list(descriptors))
    if held:
        _load()
        from north_lsp.shell.processes import end_now

        end_now(lambda: [one for pid, (since, _) in held.items() for one in _tree(pid, since)])


def _load() -> None:
    """Import what ends processes. It is where this module is, whether Python knows that or not."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    import north_lsp.shell.processes  # noqa: F401


def _next(connection: socket.socket) -> tuple[bytes, Sequence[int]]:
    """Return the next message with its descriptors; a shorter one at the connection's end. Raises OSError."""
    if sys.platform == "win32":
        return b"", []
    message, descriptors, _, _ = socket.recv_fds(connection, MESSAGE, _DESCRIPTORS)
    while message and len(message) < MESSAGE and (more := connection.recv(MESSAGE - len(message))):
        message += more
    return message, descriptors


def _tree(pid: int, since: str) -> list[int]:
    """Return a shell and the processes below it; empty if the process id now belongs to another process."""
    from north_lsp.shell.processes import children_of, started_at

    return [*children_of(pid), pid] if since and started_at(pid) == since else []
