"""A server behind an address (streamable HTTP): a POST for each message, answered by JSON or by an event stream, and a
stream of the server's own messages if it has one."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from north_lsp import __version__
from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.display import one_line
from north_lsp.mcp.transport import MAX_MESSAGE_BYTES, beside, decoded, failure
from north_lsp.providers.adapters.sse import NoEventStream, ServerEvent, SseDecoder
from north_lsp.providers.tls import verification
from north_lsp.rpc.framing import Frame

JSON, EVENTS = "application/json", "text/event-stream"
_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_CONNECT_SECONDS = 10.0
_END_SECONDS = 1.0
_MOST_AT_ONCE = 50
_WAITS = (1.0, 5.0, 15.0, 60.0)
_ERROR = -32000


class HttpTransport:
    """One session with a server. Each message that is sent has a task of its own, which ends with its answer."""

    def __init__(self, spec: ServerSpec, client: httpx2.AsyncClient, tasks: anyio.abc.TaskGroup) -> None:
        self.why = "the connection was closed"
        self._url = spec.url
        self._client = client
        self._tasks = tasks
        self._under_way = 0
        self._headers: dict[str, str] = {}
        self._send: MemoryObjectSendStream[Frame]
        self._receive: MemoryObjectReceiveStream[Frame]
        self._send, self._receive = anyio.create_memory_object_stream[Frame](16)

    def post(self, message: dict[str, Any]) -> None:
        if self._under_way >= _MOST_AT_ONCE:
            raise failure("it does not answer what North sends", "continue without it")
        self._under_way += 1
        self._tasks.start_soon(self._deliver, message)

    def negotiated(self, version: str) -> None:
        self._headers[_VERSION] = version
        self._tasks.start_soon(self._listen)

    async def frames(self) -> AsyncIterator[Frame]:
        with suppress(anyio.ClosedResourceError):  # closed in the meantime
            async for frame in self._receive:
                yield frame

    def close(self, why: str) -> None:
        """End the connection: nothing more is read."""
        self.why = why
        self._send.close()
        self._receive.close()

    async def end(self) -> None:
        """Tell the server that the session is over."""
        if _SESSION in self._headers:
            with anyio.move_on_after(_END_SECONDS, shield=True):
                with suppress(httpx2.HTTPError):  # it finds out by itself
                    await self._client.delete(self._url, headers=self._headers)

    # -- one message ------------------------------------------------------------------------------------------------

    async def _deliver(self, message: dict[str, Any]) -> None:
        """Send a message and pass on what answers it; a failure answers its request."""
        problem = ""
        try:
            problem = await self._answered(message)
        except (httpx2.HTTPError, NoEventStream) as error:
            problem = reason(error, self._url)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # nobody reads any more
        finally:
            self._under_way -= 1
        if problem and "id" in message and "method" in message:
            error_of = {"code": _ERROR, "message": problem}
            await self._put({"jsonrpc": "2.0", "id": message["id"], "error": error_of})

    async def _answered(self, message: dict[str, Any]) -> str:
        """Send a message; returns what is wrong, empty if nothing is."""
        headers = {"accept": f"{JSON}, {EVENTS}", "content-type": JSON, **self._headers}
        body = json.dumps(message, ensure_ascii=True).encode()
        is_request = "method" in message and "id" in message
        async with self._client.stream("POST", self._url, content=body, headers=headers) as response:
            if response.status_code == 404 and _SESSION in self._headers:
                self.close("the server has forgotten the session")
                return self.why
            if response.status_code >= 300:
                return await refusal(response)
            if (session := response.headers.get(_SESSION)) and message.get("method") == "initialize":
                self._headers[_SESSION] = session
            if response.status_code == 202 or not is_request:
                return ""
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == EVENTS:
                return await self._of_events(response, message["id"])
            if kind != JSON:
                return f"it answered with {one_line(kind or 'nothing that can be read', 60)}"
            if (data := await _bounded(response)) is None:
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

    async def _put(self, frame: Frame) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody reads any more
            await self._send.send(frame)

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
                        last = event.id or last
                        if event.data:
                            await self._put(await decoded(event.data.encode("utf-8", "replace")))
            except (httpx2.HTTPError, NoEventStream):
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


@asynccontextmanager
async def http_client(
    spec: ServerSpec, environ: Mapping[str, str], auth: httpx2.Auth
) -> AsyncIterator[httpx2.AsyncClient]:
    """Make the client for one server. It follows no redirects: the headers are for the host that was named. What they
    say of the user counts before a sign-in."""
    try:
        verify = await anyio.to_thread.run_sync(verification, environ, spec.url)
        headers = httpx2.Headers({"user-agent": f"north-lsp/{__version__}", **spec.headers})
    except (OSError, ValueError, UnicodeEncodeError) as error:
        raise failure(f"its connection cannot be prepared: {error}") from None
    limits = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    used = auth if "authorization" not in {name.lower() for name in spec.headers} else None
    async with httpx2.AsyncClient(
        headers=headers, timeout=limits, verify=verify, follow_redirects=False, auth=used
    ) as client:
        yield client


async def events(response: httpx2.Response) -> AsyncIterator[ServerEvent]:
    """Yield the events of a stream. Raises NoEventStream, httpx2.HTTPError."""
    decoder = SseDecoder(MAX_MESSAGE_BYTES)
    async for chunk in response.aiter_bytes():
        for event in decoder.feed(chunk):
            yield event
    for event in decoder.end():
        yield event


async def refusal(response: httpx2.Response) -> str:
    """Say what is wrong with an answer that refuses."""
    text = (await _bounded(response) or b"")[:500].decode("utf-8", "replace")
    hints = [response.headers.get(name) for name in ("www-authenticate", "mcp-auth-server", "location")]
    said = one_line("; ".join(part for part in (text, *hints) if part), 500)
    what = f"HTTP {response.status_code}: {said or response.reason_phrase}"
    if response.status_code in (401, 403):
        what += " (it wants you to sign in: `/mcp reauth` with its name, or a token in its `headers`)"
    elif 300 <= response.status_code < 400:
        what += " (North does not follow redirects: write the address that it leads to)"
    return what


async def _bounded(response: httpx2.Response) -> bytes | None:
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > MAX_MESSAGE_BYTES:
            return None
    return bytes(data)


def reason(error: httpx2.HTTPError | NoEventStream, address: str) -> str:
    """Say why a request came to nothing."""
    words = one_line(str(error) or type(error).__name__, 200)
    return f"it {words}" if isinstance(error, NoEventStream) else f"{one_line(address, 200)} cannot be reached: {words}"
