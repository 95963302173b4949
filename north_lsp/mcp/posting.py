"""What both carriers to a server behind an address have in common: each message is sent by a POST of its own, with a
limit on how many are under way, and what goes wrong with it answers its request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from north_lsp import __version__
from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.mcp.transport import MAX_MESSAGE_BYTES, failure
from north_lsp.providers.adapters.sse import NoEventStream, ServerEvent, SseDecoder
from north_lsp.providers.tls import verification
from north_lsp.rpc.framing import Frame

JSON, EVENTS = "application/json", "text/event-stream"
_CONNECT_SECONDS = 10.0
_MOST_AT_ONCE = 50
_PORTS = 65_536
_ERROR = -32000


class PostingTransport:
    """One connection to a server behind an address. Each message that is sent has a task of its own."""

    def __init__(self, spec: ServerSpec, client: httpx2.AsyncClient, tasks: anyio.abc.TaskGroup, why: str) -> None:
        self.why = why
        self.reached = True
        self._url = spec.url
        self._client = client
        self._tasks = tasks
        self._under_way = 0
        self._asked: dict[object, anyio.CancelScope] = {}
        """The requests that are being sent or answered."""
        self._send: MemoryObjectSendStream[Frame]
        self._receive: MemoryObjectReceiveStream[Frame]
        self._send, self._receive = anyio.create_memory_object_stream[Frame](16)

    def post(self, message: dict[str, Any]) -> None:
        is_withdrawal = message.get("method") == "notifications/cancelled"
        if is_withdrawal and (scope := self._asked.get(message["params"]["requestId"])) is not None:
            scope.cancel()  # otherwise a server that never answers would hold the connection for good
        if self._under_way >= _MOST_AT_ONCE:
            raise failure("it does not accept what North sends", "continue without it")
        self._under_way += 1
        self._tasks.start_soon(self._deliver, message)

    async def frames(self) -> AsyncIterator[Frame]:
        with suppress(anyio.ClosedResourceError):  # closed in the meantime
            async for frame in self._receive:
                yield frame

    def close(self, why: str | None = None) -> None:
        """End the connection: nothing more is read."""
        self.why = why or self.why
        self._send.close()
        self._receive.close()

    async def _deliver(self, message: dict[str, Any]) -> None:
        """Send a message and pass on what answers it; a failure answers its request."""
        problem, id = "", message.get("id") if "method" in message else None
        scope = anyio.CancelScope()
        if id is not None:
            self._asked[id] = scope
        try:
            with scope:
                problem = await self._answered(message)
                self.reached = True
        except ToolError as error:  # of the sign-in
            problem = error.message.removeprefix("MCP error: ")
        except (httpx2.HTTPError, NoEventStream) as error:
            problem, self.reached = reason(error, self._url), False
        finally:
            self._under_way -= 1
            if id is not None:
                del self._asked[id]
        if problem and "id" in message and "method" in message:
            error_of = {"code": _ERROR, "message": f"{problem} (at {message['method']})"}
            await self._put({"jsonrpc": "2.0", "id": message["id"], "error": error_of})

    async def _answered(self, message: dict[str, Any]) -> str:
        """Send a message; returns what is wrong, empty if nothing is."""
        raise NotImplementedError

    async def _put(self, frame: Frame) -> None:
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody reads any more
            await self._send.send(frame)

    def _posted(
        self, address: str, message: dict[str, Any], headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[httpx2.Response]:
        body = json.dumps(message, ensure_ascii=True).encode()
        return self._client.stream("POST", address, content=body, headers={"content-type": JSON, **headers})


@asynccontextmanager
async def http_client(
    spec: ServerSpec, environ: Mapping[str, str], auth: httpx2.Auth
) -> AsyncIterator[httpx2.AsyncClient]:
    """Make the client for one server. It follows no redirects: the headers are for the host that was named. What they
    say of the user counts before a sign-in. Raises ToolError."""
    if (problem := unusable(spec.url)) is not None:
        raise failure(f"its address cannot be used: {problem}")
    limits = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
    used = auth if "authorization" not in {name.lower() for name in spec.headers} else None
    try:
        verify = await anyio.to_thread.run_sync(verification, environ, spec.url)
        headers = httpx2.Headers({"user-agent": f"north-lsp/{__version__}", **spec.headers})
        client = httpx2.AsyncClient(headers=headers, timeout=limits, verify=verify, follow_redirects=False, auth=used)
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:  # the last ones: of a proxy
        raise failure(f"its connection cannot be prepared: {one_line(str(error), 200)}") from None
    async with client:
        yield client


def unusable(address: str) -> str | None:
    """Say why nobody can be asked at an address, None if somebody can."""
    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL as error:
        return one_line(str(error), 200)
    if not url.host or url.scheme not in ("http", "https"):
        return "it has no host"
    return None if url.port is None or 0 < url.port < _PORTS else "there is no such port"


def can_be_named(text: str) -> bool:
    """Tell whether a text of a server's can be sent back to it in a header."""
    return text.isascii() and text.isprintable()


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
    text = (await bounded(response) or b"")[:500].decode("utf-8", "replace")
    hints = [response.headers.get(name) for name in ("www-authenticate", "mcp-auth-server", "location")]
    said = one_line("; ".join(part for part in (text, *hints) if part), 500)
    what = f"HTTP {response.status_code}: {said or response.reason_phrase}"
    if response.status_code in (401, 403):
        what += " (it wants you to sign in: `/mcp reauth` with its name, or a token in its `headers`)"
    elif 300 <= response.status_code < 400:
        what += " (North does not follow redirects: configure the address that it redirects to)"
    return what


async def bounded(response: httpx2.Response) -> bytes | None:
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
