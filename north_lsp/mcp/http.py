"""A server behind an address (streamable HTTP): a POST for each message, answered by JSON or by an event stream, and a
stream of the server's own messages if it has one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import httpx2

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.background import beside
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.mcp.posting import EVENTS, JSON, PostingTransport, bounded, can_be_named, events, http_client, refusal
from north_lsp.mcp.transport import MAX_MESSAGE_BYTES, decoded
from north_lsp.providers.adapters.sse import NoEventStream, ServerEvent

_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_END_SECONDS = 1.0
_NO_ANSWER = "its stream ended without an answer"
_WAITS = (1.0, 5.0, 15.0, 60.0)
"""Seconds before a stream that has ended is asked for again, unless the server says how many."""
_SHORTEST_WAIT = 0.05


@dataclass
class _Place:
    """Where a stream continues, and after how many seconds, if the server has said so."""

    id: str = ""
    seconds: float | None = None

    def take(self, event: ServerEvent) -> None:
        if event.id and can_be_named(event.id):
            self.id = event.id
        if event.retry is not None:
            self.seconds = max(event.retry / 1000, _SHORTEST_WAIT)

    def wait(self, attempt: int) -> float:
        return self.seconds if self.seconds is not None else _WAITS[attempt]

    @property
    def headers(self) -> dict[str, str]:
        return {"last-event-id": self.id} if self.id else {}


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
        """Read the stream of a request up to its answer; where it ends before, it is asked for again from there on, as
        long as that leads anywhere."""
        place, attempt = _Place(), 0
        try:
            if await self._is_answered(response, id, place):
                return ""
        except (httpx2.HTTPError, NoEventStream):
            if not place.id:
                raise
        while place.id and attempt < len(_WAITS):
            await anyio.sleep(place.wait(attempt))
            before = place.id
            with suppress(httpx2.HTTPError, NoEventStream):  # asked for again
                async with self._stream(place) as again:
                    if not _is_stream(again):
                        break
                    if await self._is_answered(again, id, place):
                        return ""
            attempt = 0 if place.id != before else attempt + 1
        return _NO_ANSWER

    async def _is_answered(self, response: httpx2.Response, id: object, place: _Place) -> bool:
        async for event in events(response):
            place.take(event)
            if not event.data:
                continue  # it only names the place
            frame = await decoded(event.data.encode("utf-8", "replace"))
            await self._put(frame)
            if isinstance(frame, dict) and frame.get("id") == id and "method" not in frame:
                return True
        return False

    def _stream(self, place: _Place) -> AbstractAsyncContextManager[httpx2.Response]:
        return self._client.stream("GET", self._url, headers={"accept": EVENTS, **self._headers, **place.headers})

    # -- the server's own messages ----------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Read what the server says by itself, for as long as it offers that; a stream that ends is asked for again."""
        place, attempt = _Place(), 0
        while attempt < len(_WAITS):
            try:
                async with self._stream(place) as response:
                    if not _is_stream(response):
                        return  # it has nothing to say by itself
                    async for event in events(response):
                        attempt = 0
                        place.take(event)
                        if event.data:
                            await self._put(await decoded(event.data.encode("utf-8", "replace")))
            except (httpx2.HTTPError, NoEventStream, ToolError):
                pass  # asked for again
            await anyio.sleep(place.wait(attempt))
            attempt += 1


def _is_stream(response: httpx2.Response) -> bool:
    return response.status_code == 200 and response.headers.get("content-type", "").lower().startswith(EVENTS)


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
