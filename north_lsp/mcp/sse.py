"""A server behind an address, in the protocol's older way: one event stream for all that the server says, which begins
with the address that messages are sent to."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urljoin, urlsplit

import anyio
import anyio.abc
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.mcp.http import EVENTS, JSON, events, http_client, reason, refusal
from north_lsp.mcp.transport import beside, decoded, failure
from north_lsp.providers.adapters.sse import NoEventStream
from north_lsp.rpc.framing import Frame

_MOST_AT_ONCE = 50
_ERROR = -32000


class SseTransport:
    """One event stream. What is sent before the server has named its address waits for that."""

    def __init__(self, spec: ServerSpec, client: httpx2.AsyncClient, tasks: anyio.abc.TaskGroup) -> None:
        self.why = "its stream ended"
        self._url = spec.url
        self._client = client
        self._tasks = tasks
        self._address = ""
        self._named = anyio.Event()
        self._under_way = 0
        self._send: MemoryObjectSendStream[Frame]
        self._receive: MemoryObjectReceiveStream[Frame]
        self._send, self._receive = anyio.create_memory_object_stream[Frame](16)

    def post(self, message: dict[str, Any]) -> None:
        if self._under_way >= _MOST_AT_ONCE:
            raise failure("it does not take what North sends", "continue without it")
        self._under_way += 1
        self._tasks.start_soon(self._deliver, message)

    def negotiated(self, version: str) -> None:
        pass

    async def frames(self) -> AsyncIterator[Frame]:
        with suppress(anyio.ClosedResourceError):
            async for frame in self._receive:
                yield frame

    def close(self) -> None:
        self._send.close()
        self._receive.close()

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
            address = urljoin(self._url, data.strip())
            if urlsplit(address)[:2] != urlsplit(self._url)[:2]:
                raise failure(f"it wants messages to be sent to another host: {one_line(address, 200)}")
            self._address = address
            self._named.set()
            return
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody reads any more
            await self._send.send(await decoded(data.encode("utf-8", "replace")))

    async def _deliver(self, message: dict[str, Any]) -> None:
        problem = ""
        try:
            await self._named.wait()
            if self._address:
                body = json.dumps(message, ensure_ascii=True).encode()
                async with self._client.stream(
                    "POST", self._address, content=body, headers={"content-type": JSON}
                ) as response:
                    if response.status_code >= 300:
                        problem = await refusal(response)
        except httpx2.HTTPError as error:
            problem = reason(error, self._address)
        finally:
            self._under_way -= 1
        if problem and "id" in message and "method" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": _ERROR, "message": problem}}
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._send.send(answer)


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
