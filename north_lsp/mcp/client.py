"""One connection's requests and answers, whatever carries them. Nothing that the other side sends ends more than the
request that it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import field
from typing import Any

import anyio

from north_lsp import __version__
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.mcp.transport import Transport, failure
from north_lsp.rpc.framing import Frame
from north_lsp.rpc.messages import (
    METHOD_NOT_FOUND,
    Id,
    Invalid,
    Notification,
    Request,
    Response,
    RpcError,
    classify,
    error_reply,
    result_reply,
)

VERSION = "2025-11-25"
_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", VERSION)
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_LONGEST_CALL = 3600.0
_UNASKED_AT_ONCE = 200
_BREATH = 0.02

Progress = Callable[[str], Awaitable[None]]
Told = Callable[[str, Mapping[str, Any]], None]
"""Takes a notification: its method and its params."""


@dataclass
class _Waiting:
    """A request that is not answered yet."""

    seconds: float
    scope: anyio.CancelScope
    answered: anyio.Event = field(default_factory=anyio.Event)
    response: Response | None = None
    news: str = ""
    has_news: anyio.Event = field(default_factory=anyio.Event)
    latest: float = 0.0


class McpClient:
    """The client's side of one connection. `answer` answers the server's own requests; `told` hears its
    notifications."""

    def __init__(self, transport: Transport, answers: Mapping[str, Callable[[], object]], told: Told) -> None:
        self._transport = transport
        self._answers = answers
        self._told = told
        self._waiting: dict[Id, _Waiting] = {}
        self._next = 0
        self._closed = anyio.Event()
        self.skipped = 0
        """How many messages made no sense."""

    async def run(self) -> None:
        """Read until the connection ends."""
        unasked = 0
        try:
            async for frame in self._transport.frames():
                if self._take(frame):
                    continue
                unasked += 1
                if unasked % _UNASKED_AT_ONCE == 0:
                    await anyio.sleep(_BREATH)  # a flood is read slowly, so that it waits on the other side
        finally:
            self._closed.set()
            for waiting in self._waiting.values():
                waiting.answered.set()

    async def wait_closed(self) -> str:
        await self._closed.wait()
        return self._transport.why

    # -- asking -----------------------------------------------------------------------------------------------------

    async def initialize(self, seconds: float, capabilities: Mapping[str, object]) -> Mapping[str, Any]:
        """Open the connection. Raises ToolError."""
        about = {"name": "north", "title": "North", "version": __version__}
        params = {"protocolVersion": VERSION, "capabilities": dict(capabilities), "clientInfo": about}
        result = await self.request("initialize", params, seconds)
        version = result.get("protocolVersion")
        if version not in _VERSIONS:
            raise failure(f"it speaks version {one_line(str(version), 40)} of the protocol, which North does not")
        self._transport.negotiated(str(version))
        self._transport.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    async def discover(self, seconds: float, version: str) -> Mapping[str, Any]:
        """Ask a server without sessions what it is; returns what `initialize` does. Raises ToolError."""
        result = await self.request("server/discover", {}, seconds)
        offered = result.get("supportedVersions")
        if not isinstance(offered, list) or version not in offered:
            raise failure(f"it does not speak version {version} of the protocol, the only one in an editor")
        meta = result.get("_meta")
        about = meta.get(_SERVER_INFO) if isinstance(meta, Mapping) else None
        return {"serverInfo": about, **result}

    async def request(
        self, method: str, params: Mapping[str, object], seconds: float, progress: Progress | None = None
    ) -> Mapping[str, Any]:
        """Ask, and return the result. As long as the server reports progress, it has more time. Raises ToolError."""
        return _result(await self._ask(method, params, seconds, progress))

    async def ping(self, seconds: float) -> None:
        """Ask whether the other side is there: whatever it answers, it is. Raises ToolError."""
        response = await self._ask("ping", {}, seconds)
        if response.error is not None and not self._transport.reached:
            raise failure(one_line(response.error.message, 1000))

    @property
    def is_waiting(self) -> bool:
        """Whether there are requests without an answer."""
        return bool(self._waiting)

    async def _ask(
        self, method: str, params: Mapping[str, object], seconds: float, progress: Progress | None = None
    ) -> Response:
        if self._closed.is_set():
            raise failure(self._transport.why)
        self._next += 1
        id = self._next
        sent = dict(params) | ({"_meta": {"progressToken": id}} if progress is not None else {})
        waiting = _Waiting(seconds, anyio.CancelScope())
        waiting.scope.deadline = anyio.current_time() + seconds
        waiting.latest = anyio.current_time() + _LONGEST_CALL
        self._waiting[id] = waiting
        try:
            self._transport.post({"jsonrpc": "2.0", "id": id, "method": method, "params": sent})
            with waiting.scope:
                await self._wait(waiting, progress)
        except anyio.get_cancelled_exc_class():
            self._withdraw(id, waiting, method, "the user cancelled it")
            raise
        finally:
            del self._waiting[id]
        if waiting.response is None:
            if self._closed.is_set():
                raise failure(self._transport.why)
            self._withdraw(id, waiting, method, "it took too long")
            raise ToolError(
                "TIMEOUT",
                f"MCP error: no answer to {method} within {seconds:g} s",
                "try again with less, or continue without it",
            )
        return waiting.response

    async def _wait(self, waiting: _Waiting, progress: Progress | None) -> None:
        if progress is None:
            await waiting.answered.wait()
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._show, waiting, progress)
            await waiting.answered.wait()
            tasks.cancel_scope.cancel()

    async def _show(self, waiting: _Waiting, progress: Progress) -> None:
        while True:
            await waiting.has_news.wait()
            waiting.has_news = anyio.Event()
            await progress(waiting.news)
            await anyio.sleep(0.1)  # what comes faster is not worth showing

    def _withdraw(self, id: Id, waiting: _Waiting, method: str, why: str) -> None:
        """Tell the server that nobody waits for an answer any more."""
        if waiting.response is not None or self._closed.is_set() or method == "initialize":
            return
        params = {"requestId": id, "reason": why}
        with suppress(ToolError):  # it does not read anyway
            self._transport.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    # -- hearing ----------------------------------------------------------------------------------------------------

    def _take(self, frame: Frame) -> bool:
        """Handle a message; returns whether it answers something."""
        match classify(frame):
            case Response(id) as response if (waiting := self._waiting.get(id)) is not None:
                if waiting.response is None:
                    waiting.response = response
                    waiting.answered.set()
                return True
            case Request(id, method):
                self._reply(id, method)
            case Notification("notifications/progress", params):
                self._progressed(params)
            case Notification(method, params):
                self._told(method, params)
            case Invalid() | Response():
                self.skipped += 1
        return False

    def _reply(self, id: Id, method: str) -> None:
        answer = self._answers.get(method)
        refused = RpcError(METHOD_NOT_FOUND, f"North does not offer {one_line(method, 60)}")
        with suppress(ToolError):  # a server that floods North with requests and reads no answers gets none
            self._transport.post(result_reply(id, answer()) if answer is not None else error_reply(id, refused))

    def _progressed(self, params: Mapping[str, Any]) -> None:
        token = params.get("progressToken")
        waiting = self._waiting.get(token) if isinstance(token, int | str) else None
        if waiting is None:
            return
        waiting.scope.deadline = min(anyio.current_time() + waiting.seconds, waiting.latest)
        done, total, text = params.get("progress"), params.get("total"), params.get("message")
        words = one_line(text, 200) if isinstance(text, str) else ""
        if number := _number(done):
            most = _number(total)
            words = f"{number}/{most} {words}".strip() if most.strip("-0") else f"{number} {words}".strip()
        waiting.news = words
        waiting.has_news.set()


def _number(value: object) -> str:
    """Return a number for people; empty for what is none, or is beyond all numbers of progress."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    try:
        return f"{value:g}"
    except OverflowError:
        return ""


def _result(response: Response) -> Mapping[str, Any]:
    if response.error is not None:
        raise failure(f"{response.error.code}: {one_line(response.error.message, 1000)}")
    if not isinstance(response.result, Mapping):
        raise failure("the answer does not follow the protocol: its result is not an object")
    if response.result.get("resultType") == "input_required":
        raise failure("it asks for something in the middle of a request, which North does not offer")
    return response.result
