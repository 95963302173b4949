"""`north-lsp lsp --tcp`: the language server on a loopback socket, for a client that presents the token."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
import sys

import anyio
import anyio.abc

from north_lsp.rpc.opening import ConnectionEnded
from north_lsp.rpc.pipe import SocketPipe
from north_lsp.server.connection import serve_lsp
from north_lsp.server.ending import Ending
from north_lsp.server.opening import open_connection
from north_lsp.server.options import Options, UsageError

_OPENING_SECONDS = 30


def read_address(text: str) -> tuple[str, int]:
    """Parse `HOST:PORT` with a loopback host. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    host = "127.0.0.1" if host == "localhost" else host.strip("[]")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--tcp takes HOST:PORT, for example 127.0.0.1:0, not {text!r}")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise UsageError(f"--tcp listens on a loopback address only (127.0.0.1 or [::1]), not on {host!r}")
    return host, int(port)


def run_tcp(address: tuple[str, int], options: Options) -> int:
    """Listen, say where on standard error, serve the first client that presents the token; returns the exit code."""
    return anyio.run(_listen, address, options)


async def _listen(address: tuple[str, int], options: Options) -> int:
    token = options.environ.get("NORTH_TCP_TOKEN") or secrets.token_urlsafe(32)
    host, port = address
    try:
        listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    except OSError as error:
        raise UsageError(f"--tcp: {host}:{port} cannot be used: {error.strerror}") from None
    bound = listener.extra(anyio.abc.SocketAttribute.local_port)
    shown = "" if options.environ.get("NORTH_TCP_TOKEN") else f" token {token}"
    sys.stderr.write(f"north-lsp: listening on {host}:{bound}{shown}\n")
    sys.stderr.flush()
    results: list[int] = []
    serving = anyio.Event()
    async with listener, anyio.create_task_group() as tasks:

        async def serve(stream: anyio.abc.SocketStream) -> None:
            async with stream:
                code = await _serve_client(stream, token, options, serving)
            if code is not None:
                results.append(code)
                tasks.cancel_scope.cancel()

        await listener.serve(serve, tasks)
    return results[0]


async def _serve_client(
    stream: anyio.abc.SocketStream, token: str, options: Options, serving: anyio.Event
) -> int | None:
    """Serve a client; return the exit code, or None if it did not get through the opening or came second."""
    peer = stream.extra(anyio.abc.SocketAttribute.remote_address)
    if not ipaddress.ip_address(str(peer[0]).partition("%")[0]).is_loopback:
        return None
    stream.extra(anyio.abc.SocketAttribute.raw_socket).setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    opening = open_connection("lsp", options.environ, token)
    pipe = SocketPipe(stream)
    with anyio.move_on_after(_OPENING_SECONDS):
        while not opening.done:
            data = await pipe.receive()
            if not data:
                return None
            try:
                for reply in opening.feed(data):
                    await pipe.send(reply)
            except ConnectionEnded:
                return None
    if not opening.done or serving.is_set():
        return None
    serving.set()
    return await serve_lsp(opening, pipe, options, Ending(os._exit))
