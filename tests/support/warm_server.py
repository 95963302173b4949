"""A process that has imported the server once and forks it for each test, since most of a server's start is imports.

    python warm_server.py serve SOCKET      the process that forks; runs until its standard input ends
    python -I -S warm_server.py run SOCKET ARGUMENTS…    as `north-lsp ARGUMENTS…`, with its descriptors and folder

The caller of `run` has a process that stands for the server: signals are passed on, its exit status is the server's,
and the server dies with it. Tests of the start itself, of memory and of process ids start a server of their own.
"""

import array
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from typing import Any, NoReturn

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_HEADER = 8
_IMPORTED = (
    *("anthropic", "openai"),
    *("north_lsp.server.connection", "north_lsp.server.tcp", "north_lsp.acp.agent", "north_lsp.lsp.service"),
    "north_lsp.agent.session.wiring",
    *("north_lsp.cli.demo.run", "north_lsp.cli.doctor"),
)


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def run(path: str, arguments: list[str]) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    request = json.dumps({"argv": arguments, "env": dict(os.environ), "cwd": os.getcwd()}).encode()
    fds = array.array("i", [0, 1, 2])
    connection.sendmsg([len(request).to_bytes(_HEADER, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    connection.sendall(request)
    pid = int.from_bytes(_receive(connection, _HEADER), "big")
    for number in _FORWARDED:
        signal.signal(number, lambda number, frame: os.kill(pid, number))
    for fd in (0, 1, 2):
        os.close(fd)
    status = int.from_bytes(_receive(connection, _HEADER), "big")
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status))


def _become_server(request: dict[str, Any], fds: list[int]) -> NoReturn:
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["north-lsp", *request["argv"]]
    from north_lsp.cli.main import main

    code = main()
    sys.stdout.flush()
    os._exit(code)


def _fork(connection: socket.socket) -> int:
    """Take one order, fork the server, and return its process id."""
    data, fds, _, _ = socket.recv_fds(connection, _HEADER, 3)
    request = json.loads(_receive(connection, int.from_bytes(data, "big")))
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become_server(request, fds)
    for fd in fds:
        os.close(fd)
    connection.sendall(pid.to_bytes(_HEADER, "big"))
    return pid


def serve(path: str) -> None:
    for name in _IMPORTED:
        importlib.import_module(name)
    from north_lsp.server.connection import load_tools

    load_tools()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    children: dict[int, socket.socket] = {}
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    chosen = selectors.DefaultSelector()
    for source in (sys.stdin, listener, wake):
        chosen.register(source, selectors.EVENT_READ)
    os.write(1, b"ready\n")
    while True:
        for key, _ in chosen.select():
            if key.fileobj is sys.stdin:
                for pid in children:
                    os.kill(pid, signal.SIGKILL)
                return
            if key.fileobj == wake:
                os.read(wake, 4096)
            elif key.fileobj is listener:
                connection, _ = listener.accept()
                with suppress(EOFError, OSError):  # gone before it has sent its order
                    pid = _fork(connection)
                    children[pid] = connection
                    chosen.register(connection, selectors.EVENT_READ, pid)
            elif key.data in children:  # the process that ran it is gone
                os.kill(key.data, signal.SIGKILL)
                chosen.unregister(key.fileobj)
        for pid in list(children):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                connection = children.pop(pid)
                with suppress(KeyError):
                    chosen.unregister(connection)
                with suppress(OSError):
                    connection.sendall(status.to_bytes(_HEADER, "big"))
                connection.close()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        run(sys.argv[2], sys.argv[3:])
