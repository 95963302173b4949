"""A process that has imported the server once and forks it for each test, since most of a server's start is imports.

    python warm_server.py DESCRIPTOR    listens on that socket; runs until its standard input ends

A test starts `warm_run.py`, which stands for the server that is forked. Tests of the start itself, of memory and of
process ids start a server of their own.
"""

import gc
import importlib
import inspect
import os
import pkgutil
import re
import selectors
import signal
import socket
import sys
from contextlib import suppress
from functools import cache
from types import FunctionType
from typing import NoReturn

_HEADER = 8
_PATIENCE_SECONDS = 20
"""One that was stopped in the middle of its order must not keep all others waiting."""
_IMPORTED = ("anthropic", "openai", "httpcore2", "rapidfuzz", "sqlite3", "yaml", "anyio._backends._asyncio", "queue")
_SCRIPTS = re.compile(r"\.(launcher|job_supervisor|__main__)$|^north_lsp\.cli\.demo\.sample\b")
_ASKED = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split", "pattern", "groups", "flags")


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
    connection.settimeout(_PATIENCE_SECONDS)
    data, fds, _, _ = socket.recv_fds(connection, _HEADER, 3)
    request = _receive(connection, int.from_bytes(data, "big"))
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _become_server(request, fds)
    for fd in fds:
        os.close(fd)
    return pid


def _import_all() -> None:
    for name in _IMPORTED:
        importlib.import_module(name)
    import north_lsp
    from tests.support.modules import is_for_here

    for module in pkgutil.walk_packages(north_lsp.__path__, "north_lsp."):
        if not _SCRIPTS.search(module.name) and is_for_here(module.name):
            importlib.import_module(module.name)


def _make_what_is_lazy() -> None:
    """Compile the patterns and constructors that would otherwise be compiled again in each server."""
    from north_lsp import lazy_dataclass, lazy_pattern

    for one in gc.get_objects():
        if type(one) is lazy_pattern._LazyPattern:
            for name in _ASKED:
                getattr(one, name)
        elif isinstance(one, type) and "__dataclass_fields__" in vars(one):
            for name in ("__init__", "__eq__", "__hash__"):
                method = vars(one).get(name)
                if isinstance(method, FunctionType) and method.__module__ == lazy_dataclass.__name__:
                    known = inspect.getclosurevars(method).nonlocals
                    if "frozen" in known:
                        one.__init__ = lazy_dataclass._compiled(known["fields"], known["frozen"])  # type: ignore[misc]
                    elif "make" in known:
                        setattr(one, name, known["make"](known["fields"]))


def _ask_once() -> None:
    """Do what each server does for its first answer and what then stays."""
    from north_lsp.agent.stream_rules.builtin import built_in
    from north_lsp.cli import arguments
    from north_lsp.providers.base import ModelRequest, UserMessage
    from north_lsp.providers.catalog.catalog import catalog
    from north_lsp.server import code_bundle
    from north_lsp.server.after_start import load_tools

    code_bundle.read_code_bundle = lambda use: None  # type: ignore[assignment, return-value]  # nothing is imported here
    catalog()
    arguments.parser = cache(arguments.parser)
    arguments.parser()
    tools = load_tools().specs("agent")
    built_in()
    sys.path.append(__file__.rsplit("/tests/support/", 1)[0])
    from tests.support.guard.judging import complaints
    from tests.support.rehearsal import rehearse

    sys.path.pop()
    assert not list(complaints(ModelRequest("offline", "", (UserMessage("hello"),), tools, 1000)))
    rehearse()


def serve(descriptor: int) -> None:
    gc.disable()  # what is made here stays
    _import_all()
    _make_what_is_lazy()
    _ask_once()
    gc.collect()
    gc.enable()
    gc.freeze()  # servers would copy the pages that the collector touches
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # until here it just ends; from here on it ends its children first
    listener = socket.socket(fileno=descriptor)
    children: dict[int, socket.socket] = {}
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    chosen = selectors.DefaultSelector()
    for source in (sys.stdin, listener, wake):
        chosen.register(source, selectors.EVENT_READ)
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
                    children[pid] = connection  # before anything can fail: it is ended with who ordered it
                    chosen.register(connection, selectors.EVENT_READ, pid)
                    connection.sendall(pid.to_bytes(_HEADER, "big"))
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
    serve(int(sys.argv[1]))
