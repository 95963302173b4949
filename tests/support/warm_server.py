"""A process that has imported the server once and forks it for each test, since most of a server's start is imports.

    python warm_server.py SOCKET    runs until its standard input ends

A test starts `warm_run.py`, which stands for the server that is forked. Tests of the start itself, of memory and of
process ids start a server of their own.
"""

import gc
import importlib
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from typing import NoReturn

_HEADER = 8
_IMPORTED = (
    *("anthropic", "openai", "httpcore2", "rapidfuzz"),
    *("north_lsp.server.connection", "north_lsp.server.tcp", "north_lsp.acp.agent", "north_lsp.lsp.service"),
    *("north_lsp.lsp.bridge", "north_lsp.providers.adapter_factory", "north_lsp.providers.adapters.anthropic"),
    *("north_lsp.providers.adapters.openai_chat", "north_lsp.providers.adapters.openai_responses"),
    *("north_lsp.agent.session.wiring", "north_lsp.tools.support.discovery"),
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


def _become_server(request: bytes, fds: list[int]) -> NoReturn:
    folder, count, *words = map(os.fsdecode, request.split(b"\0"))
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(folder)
    os.environ.clear()
    variables = (word.partition("=") for word in words[int(count) :])
    os.environ.update((name, value) for name, _, value in variables)
    sys.argv = ["north-lsp", *words[: int(count)]]
    from north_lsp.cli.main import main

    code = main()
    sys.stdout.flush()
    os._exit(code)


def _fork(connection: socket.socket) -> int:
    """Take one order, fork the server, and return its process id."""
    data, fds, _, _ = socket.recv_fds(connection, _HEADER, 3)
    request = _receive(connection, int.from_bytes(data, "big"))
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
    from north_lsp.providers.catalog.catalog import catalog
    from north_lsp.server.connection import load_tools

    catalog()
    load_tools().specs("agent")
    gc.collect()
    gc.freeze()  # servers would copy the pages that the collector touches
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
    serve(sys.argv[1])
