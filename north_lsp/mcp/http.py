"""A server behind an address (streamable HTTP): a POST for each message, answered by JSON or by an event stream, and a
stream of the server's own messages if it has one."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import httpx2

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.background import beside
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.mcp.posting import EVENTS, JSON, PostingTransport, bounded, can_be_named, events, http_client, refusal
from north_lsp.mcp.transport import MAX_MESSAGE_BYTES, decoded
from north_lsp.providers.adapters.sse import NoEventStream

_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_END_SECONDS = 1.0
_WAITS = (1.0, 5.0, 15.0, 60.0)


class HttpTransport(PostingTransport):
    """One session with a server. Each message that is sent has a task of its own, which ends with its answer."""

    def __init__(self, spec: ServerSpec, client: httpx2.AsyncClient, tasks: anyio.abc.TaskGroup) -> None:
        super().__init__(spec, client, tasks, "the connection was closed")
        self._headers: dict[str, str] = {}

    def negotiated(self, version: str) -> None:
        self._headers[_VERSION] = version
        self._tasks.start_soon(self._listen)

    async def end(self) -> None:
        """Tell the server that the session is over."""
        if _SESSION in self._headers:
            with anyio.move_on_after(_END_SECONDS, shield=True):
                with suppress(httpx2.HTTPError, ToolError):  # it finds out by itself
                    await self._client.delete(self._url, headers=self._headers)

    # -- one message ------------------------------------------------------------------------------------------------

    async def _answered(self, message: dict[str, Any]) -> str:
        """Send a message; returns what is wrong, empty if nothing is."""
        is_request = "method" in message and "id" in message
        async with self._posted(self._url, message, {"accept": f"{JSON}, {EVENTS}", **self._headers}) as response:
            if response.status_code == 404 and _SESSION in self._headers:
                self.close("the server has forgotten the session")
                return self.why
            if response.status_code >= 300:
                return await refusal(response)
            if (session := response.headers.get(_SESSION)) and message.get("method") == "initialize":
                if not can_be_named(session):
                    return "it names its session in a way that cannot be sent back"
                self._headers[_SESSION] = session
            if response.status_code == 202 or not is_request:
                return ""
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == EVENTS:
                return await self._of_events(response, message["id"])
            if kind != JSON:
                return f"it answered with {one_line(kind or 'nothing that can be read', 60)}"
            if (data := await bounded(response)) is None:
                return f"its answer is longer than {MAX_MESSAGE_BYTES} bytes"
            await self._put(await decoded(data))
            return ""

    async def _of_events(self, response: httpx2.Response, id: object) -> str:
        async for event in events(response):
            frame = await decoded(event.data.encode("utf-8", "replace"))
            await self._put(frame)
            if isinstance(frame, dict) and frame.get("id") == id and "method" not in frame:
                return ""
        return "its stream ended without an answer"

    # -- the server's own messages ----------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Read what the server says by itself, for as long as it offers that; a stream that ends is asked for again."""
        last, attempt = "", 0
        while attempt < len(_WAITS):
            headers = {"accept": EVENTS, **self._headers} | ({"last-event-id": last} if last else {})
            try:
                async with self._client.stream("GET", self._url, headers=headers) as response:
                    kind = response.headers.get("content-type", "")
                    if response.status_code != 200 or not kind.lower().startswith(EVENTS):
                        return  # it has nothing to say by itself
                    async for event in events(response):
                        attempt = 0
                        last = event.id if event.id and can_be_named(event.id) else last
                        if event.data:
                            await self._put(await decoded(event.data.encode("utf-8", "replace")))
            except (httpx2.HTTPError, NoEventStream, ToolError):
                pass  # asked for again
            await anyio.sleep(_WAITS[attempt])
            attempt += 1


@asynccontextmanager
async def http(spec: ServerSpec, environ: Mapping[str, str], auth: httpx2.Auth) -> AsyncIterator[HttpTransport]:
    """Open a session with the server at an address. Raises ToolError."""
    async with http_client(spec, environ, auth) as client:
        async with beside() as tasks:
            transport = HttpTransport(spec, client, tasks)
            try:
                yield transport
            finally:
                transport.close("the connection was closed")
        await transport.end()
