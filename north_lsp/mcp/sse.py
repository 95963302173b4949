"""A server behind an address, in the protocol's older way: one event stream for all that the server says, which begins
with the address that messages are sent to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.abc
import httpx2

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.background import beside
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.mcp.posting import EVENTS, PostingTransport, events, http_client, reason, refusal, unusable
from north_lsp.mcp.transport import decoded, failure
from north_lsp.providers.adapters.sse import NoEventStream


class SseTransport(PostingTransport):
    """One event stream. What is sent before the server has named its address waits for that."""

    def __init__(self, spec: ServerSpec, client: httpx2.AsyncClient, tasks: anyio.abc.TaskGroup) -> None:
        super().__init__(spec, client, tasks, "its stream ended")
        self._address = ""
        self._named = anyio.Event()

    def negotiated(self, version: str) -> None:
        pass

    async def listen(self) -> None:
        """Read the stream until it ends."""
        try:
            async with self._client.stream("GET", self._url, headers={"accept": EVENTS}) as response:
                kind = response.headers.get("content-type", "")
                if response.status_code != 200:
                    self.why = await refusal(response)
                elif not kind.lower().startswith(EVENTS):
                    self.why = "it does not answer with an event stream: try the type http"
                else:
                    async for event in events(response):
                        await self._take(event.name, event.data)
        except ToolError as error:
            self.why = error.message
        except (httpx2.HTTPError, NoEventStream) as error:
            self.why = reason(error, self._url)
        self._send.close()
        self._named.set()

    async def _take(self, name: str, data: str) -> None:
        if name == "endpoint":
            self._address = _place(self._url, data.strip())
            self._named.set()
            return
        await self._put(await decoded(data.encode("utf-8", "replace")))

    async def _answered(self, message: dict[str, Any]) -> str:
        """Send a message; returns what is wrong, empty if nothing is. What answers it comes by the stream."""
        await self._named.wait()
        if not self._address:
            return ""  # the stream has ended, and with it every request
        async with self._posted(self._address, message, {}) as response:
            return await refusal(response) if response.status_code >= 300 else ""


def _place(stream: str, said: str) -> str:
    """Return the address that messages are sent to, as a server's stream names it. Raises ToolError."""
    try:
        address = urljoin(stream, said)
        is_here = urlsplit(address)[:2] == urlsplit(stream)[:2]
    except ValueError:
        is_here, address = False, said
    if not is_here or unusable(address) is not None:
        raise failure(f"it wants messages to be sent where North does not send them: {one_line(address, 200)}")
    return address


@asynccontextmanager
async def sse(spec: ServerSpec, environ: Mapping[str, str], auth: httpx2.Auth) -> AsyncIterator[SseTransport]:
    """Open the stream of a server. Raises ToolError."""
    async with http_client(spec, environ, auth) as client, beside() as tasks:
        transport = SseTransport(spec, client, tasks)
        tasks.start_soon(transport.listen)
        try:
            yield transport
        finally:
            transport.close()
