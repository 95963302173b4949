"""Where a browser brings the answer of a sign-in: a listener on this machine alone, for one answer."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from urllib.parse import parse_qsl

import anyio
import anyio.abc

from north_lsp.background import beside

_PATH = "/callback"
_MAX_BYTES = 16 * 1024
_SECONDS = 5.0
_PAGE = "<!doctype html><meta charset=utf-8><title>North</title><p>{}</p>"


class Callback:
    """The address that the browser is sent to, and what it brings."""

    def __init__(self, port: int, state: str) -> None:
        self.address = f"http://127.0.0.1:{port}{_PATH}"
        self._state = state
        self._answer: Mapping[str, str] = {}
        self._came = anyio.Event()

    async def wait(self) -> Mapping[str, str]:
        """Return the parameters of the answer."""
        await self._came.wait()
        return self._answer

    async def serve(self, stream: anyio.abc.SocketStream) -> None:
        """Take one request; what does not know the state is nothing to North."""
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                with anyio.move_on_after(_SECONDS):
                    data = b""
                    while b"\r\n\r\n" not in data and len(data) < _MAX_BYTES:
                        data += await stream.receive()
                    status, text = self._take(data.split(b"\r\n", 1)[0].decode("latin-1"))
                    body = _PAGE.format(text).encode()
                    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
                    await stream.send(f"{head}Connection: close\r\n\r\n".encode() + body)

    def _take(self, line: str) -> tuple[str, str]:
        method, _, rest = line.partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        if method != "GET" or path != _PATH:
            return "404 Not Found", "There is nothing here."
        try:
            given = dict(parse_qsl(query, max_num_fields=50))
        except ValueError:
            given = {}
        if not hmac.compare_digest(given.get("state", "").encode(), self._state.encode()):
            return "400 Bad Request", "This is not the response that North is waiting for."
        if not self._came.is_set():
            self._answer = given
            self._came.set()
        return "200 OK", "North has the answer. You can close this page and go back to your editor."


@asynccontextmanager
async def callback(state: str, port: int = 0) -> AsyncIterator[Callback]:
    """Listen for an answer with this state, at any port that is free or at the given one. Raises OSError."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as listener:
        found = Callback(listener.extra(anyio.abc.SocketAttribute.local_port), state)
        async with beside(partial(listener.serve, found.serve)):
            yield found
