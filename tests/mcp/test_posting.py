"""Servers behind addresses that answer with what cannot be sent back, and addresses that cannot be asked: a request
comes to nothing then, and says why."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import httpx2
import pytest

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.errors import ToolError
from north_lsp.mcp.http import http
from north_lsp.mcp.oauth import SignedIn
from north_lsp.mcp.posting import PostingTransport
from north_lsp.mcp.sse import sse
from tests.support.patience import PATIENCE

SPEC = ServerSpec("s", "user", "mcp.json", "http")
ASKED = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
Answer = Callable[[BaseHTTPRequestHandler], None]
Opened = Callable[[ServerSpec, dict[str, str], httpx2.Auth], AbstractAsyncContextManager[PostingTransport]]


def say(handler: BaseHTTPRequestHandler, body: bytes, **headers: str) -> None:
    handler.send_response(200)
    for name, value in ({"content_type": "application/json", "content_length": str(len(body))} | headers).items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """A server whose every answer is made by a function."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.sent = self.rfile.read(int(self.headers["content-length"]))
            answer(self)

        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


async def first(transport: PostingTransport) -> Any:
    with anyio.fail_after(PATIENCE):
        return await anext(aiter(transport.frames()))


def initialized(handler: BaseHTTPRequestHandler, **headers: str) -> None:
    say(handler, json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode(), **headers)


@pytest.mark.parametrize("opened", [http, sse])
@pytest.mark.parametrize("url", ["http://[::1", "http://a:b/", "http://a:99999/", "http://\x01/", "http:///mcp"])
async def test_an_address_that_cannot_be_asked_is_said_to_be_one(opened: Opened, url: str) -> None:
    with pytest.raises(ToolError, match="its address cannot be used"):
        async with opened(replace(SPEC, url=url), {}, httpx2.Auth()):
            pass


async def test_a_proxy_that_cannot_be_used_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "pigeon://there")
    with pytest.raises(ToolError, match="its connection cannot be prepared"):
        async with http(replace(SPEC, url="http://a.example/"), {}, httpx2.Auth()):
            pass


async def test_a_session_that_cannot_be_named_again_is_refused(without_proxies: None) -> None:
    with answering(lambda handler: initialized(handler, mcp_session_id="caf\xe9")) as url:
        async with http(replace(SPEC, url=url), {}, httpx2.Auth()) as transport:
            transport.post(ASKED)
            assert "names its session" in (await first(transport))["error"]["message"]


async def test_the_last_event_is_named_only_if_it_can_be(without_proxies: None) -> None:
    named: list[str | None] = []
    again = threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.command == "POST":
            return initialized(handler)
        named.append(handler.headers["last-event-id"])
        if len(named) > 1:
            again.set()
        body = 'id: caf\xe9\ndata: {"jsonrpc": "2.0", "method": "notifications/message"}\n\n'.encode()
        return say(handler, body, content_type="text/event-stream")

    with answering(answer) as url:
        async with http(replace(SPEC, url=url), {}, httpx2.Auth()) as transport:
            transport.negotiated("2025-11-25")
            assert (await first(transport))["method"] == "notifications/message"
            assert await anyio.to_thread.run_sync(again.wait, PATIENCE)
    assert named[:2] == [None, None]


@pytest.mark.parametrize("place", ["http://[", "//[::1", "http://a:b/", "/a\x01b", "http://other.example/"])
async def test_an_event_stream_that_names_no_usable_address_ends(place: str, without_proxies: None) -> None:
    body = f"event: endpoint\ndata: {place}\n\n".encode()
    with answering(lambda handler: say(handler, body, content_type="text/event-stream")) as url:
        async with sse(replace(SPEC, url=url), {}, httpx2.Auth()) as transport:
            with anyio.fail_after(PATIENCE):
                assert [frame async for frame in transport.frames()] == []
            assert "wants messages to be sent" in transport.why


class Failing:
    """A sign-in that has ended and cannot be refreshed."""

    async def token(self, spec: ServerSpec, refused: str = "") -> str:
        raise ToolError("REMOTE_ERROR", "MCP error: b.example cannot be reached")


async def test_nothing_is_sent_without_the_sign_in_that_there_was(without_proxies: None) -> None:
    """A server that lets anybody in would answer as if the user was nobody."""
    asked: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        initialized(handler)

    sign_ins: Any = Failing()
    with answering(answer) as url:
        spec = replace(SPEC, url=url)
        async with http(spec, {}, SignedIn(spec, sign_ins)) as transport:
            transport.post(ASKED)
            assert "b.example cannot be reached" in (await first(transport))["error"]["message"]
    assert asked == []


class Token:
    """Sign-ins of which the first is refused."""

    async def token(self, spec: ServerSpec, refused: str = "") -> str:
        return "second" if refused else "first"


async def test_a_refusal_without_end_is_not_read_to_its_end(without_proxies: None) -> None:
    written = 0

    def answer(handler: BaseHTTPRequestHandler) -> None:
        nonlocal written
        handler.send_response(401)
        handler.end_headers()
        try:
            while written < 2**30:
                written += handler.wfile.write(b"x" * 2**16)
        except OSError:  # nobody reads any more
            pass

    sign_ins: Any = Token()
    with answering(answer) as url:
        spec = replace(SPEC, url=url)
        async with http(spec, {}, SignedIn(spec, sign_ins)) as transport:
            transport.post(ASKED)
            assert "refus" in (await first(transport))["error"]["message"]
    assert written < 2**28


async def test_an_answer_is_fetched_where_its_stream_was_left_off(without_proxies: None) -> None:
    """Servers may end a stream before its answer, and begin it with an event that is none and names the place."""
    named: list[str | None] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        named.append(handler.headers["last-event-id"])
        place = f"id: {len(named)}\nretry: 1\ndata:\n\n".encode()
        found = b'data: {"jsonrpc": "2.0", "id": 1, "result": {}}\n\n' if len(named) == 3 else b""
        say(handler, place + found, content_type="text/event-stream")

    with answering(answer) as url:
        async with http(replace(SPEC, url=url), {}, httpx2.Auth()) as transport:
            transport.post(ASKED)
            assert await first(transport) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert named == [None, "1", "2"]


async def test_a_stream_that_ends_again_and_again_without_an_answer_is_given_up(without_proxies: None) -> None:
    asked: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.command)
        say(handler, b"id: 1\nretry: 1\ndata:\n\n", content_type="text/event-stream")

    with answering(answer) as url:
        async with http(replace(SPEC, url=url), {}, httpx2.Auth()) as transport:
            transport.post(ASKED)
            assert "ended without an answer" in (await first(transport))["error"]["message"]
    assert asked[:2] == ["POST", "GET"]


async def test_a_call_that_nobody_waits_for_holds_no_connection(without_proxies: None) -> None:
    held, given_up = threading.Semaphore(0), threading.Event()

    def answer(handler: Any) -> None:
        asked = json.loads(handler.sent)
        if asked.get("id") == "last":
            reply = json.dumps({"jsonrpc": "2.0", "id": "last", "result": {}}).encode()
            say(handler, reply, content_type="application/json")
        elif "id" in asked:
            held.release()
            given_up.wait(PATIENCE)
        else:
            handler.send_response(202)
            handler.end_headers()

    with answering(answer) as url:
        async with http(replace(SPEC, url=url), {}, httpx2.Auth()) as transport:
            for id in range(60):
                transport.post({**ASKED, "id": id})
                assert await anyio.to_thread.run_sync(held.acquire, True, PATIENCE)
                params = {"requestId": id}
                transport.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
            transport.post({**ASKED, "id": "last"})
            assert (await first(transport))["id"] == "last"
            given_up.set()
