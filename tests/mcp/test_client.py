"""One connection's requests and answers, over a carrier that a test fills."""

import threading
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from north_lsp.mcp.client import McpClient
from north_lsp.mcp.stdio import StdioTransport
from north_lsp.mcp.transport import decoded
from north_lsp.rpc.framing import Frame, decode_message


class Carrier:
    """Sends what it is given; `posted` is what North sent."""

    why = "closed"
    reached = True

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        self.send, self._receive = anyio.create_memory_object_stream[Frame](16)

    def post(self, message: dict[str, Any]) -> None:
        self.posted.append(message)

    def negotiated(self, version: str) -> None: ...

    async def frames(self) -> AsyncIterator[Frame]:
        async with self._receive:
            async for frame in self._receive:
                yield frame


@pytest.mark.parametrize(
    ("done", "total", "said"),
    [
        (2, 3, "2/3 m"),
        (0.5, None, "0.5 m"),
        (10**400, 10**401, "m"),
        (2, 10**400, "2 m"),
        (True, True, "m"),
        ("2", [], "m"),
        (2, 0, "2 m"),
    ],
)
async def test_progress_of_any_size_is_told(done: object, total: object, said: str) -> None:
    carrier, told, seen = Carrier(), list[str](), anyio.Event()

    async def report(text: str) -> None:
        told.append(text)
        seen.set()

    client = McpClient(carrier, {}, lambda method, params: None)
    async with carrier.send, anyio.create_task_group() as tasks:
        tasks.start_soon(client.run)
        tasks.start_soon(client.request, "tools/call", {}, 30.0, report)
        while not carrier.posted:
            await anyio.lowlevel.checkpoint()
        params = {"progressToken": carrier.posted[0]["id"], "progress": done, "total": total, "message": "m"}
        await carrier.send.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        await seen.wait()
        await carrier.send.send({"jsonrpc": "2.0", "id": carrier.posted[0]["id"], "result": {}})
        carrier.send.close()
    assert told == [said]


class Pipe:
    """Gives what a server has written, in pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    async def receive(self) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


async def test_large_messages_are_decoded_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    where: list[tuple[int, bool]] = []

    def noted(body: bytes) -> Frame:
        where.append((len(body), threading.current_thread() is threading.main_thread()))
        return decode_message(body)

    monkeypatch.setattr("north_lsp.rpc.framing.decode_message", noted)
    monkeypatch.setattr("north_lsp.mcp.transport.decode_message", noted)
    large = b'"' + b"x" * 300_000 + b'"'
    pipe: Any = Pipe(b"1\n", large[:200_000], large[200_000:] + b"\n2\n", b"3\n")
    frames = [frame async for frame in StdioTransport(pipe).frames()]
    assert frames == [1, large[1:-1].decode(), 2, 3]
    assert where == [(1, True), (len(large), False), (1, False), (1, True)]
    where.clear()
    assert [await decoded(b"1"), await decoded(large)] == [1, large[1:-1].decode()]
    assert where == [(1, True), (len(large), False)]
