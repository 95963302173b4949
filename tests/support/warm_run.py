"""Stands for a server that `warm_server.py` forks. Hundreds of tests start it, so it imports next to nothing.

    python -I -S warm_run.py SOCKET ARGUMENTS…    as `north-lsp ARGUMENTS…`, with its descriptors and folder

Signals are passed on, its exit status is the server's, and the server dies with it.
"""

import _signal  # type: ignore[import-not-found]  # typeshed knows only `signal`, which imports a lot
import _socket
import array
import os
import sys

_HEADER = 8


def _received(connection: _socket.socket) -> int:
    data = b""
    while len(data) < _HEADER:
        piece = connection.recv(_HEADER - len(data))
        if not piece:
            raise EOFError
        data += piece
    return int.from_bytes(data, "big")


def run(path: str, arguments: list[str]) -> None:
    """Order a server, and end as it ends."""
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(path)
    words = [os.getcwd(), str(len(arguments)), *arguments, *(f"{name}={value}" for name, value in os.environ.items())]
    request = b"\0".join(map(os.fsencode, words))
    fds = array.array("i", [0, 1, 2])
    connection.sendmsg([len(request).to_bytes(_HEADER, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
    connection.sendall(request)
    pid = _received(connection)
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, lambda number, frame: os.kill(pid, number))
    for fd in (0, 1, 2):
        os.close(fd)
    status = _received(connection)
    if os.WIFSIGNALED(status):
        _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
