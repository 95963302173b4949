"""Every way in which a model stream goes wrong, for every vendor: one kind, one sentence with the next step, and what
had arrived is kept."""

import re
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import pytest

from north_lsp.providers.adapters.failures import retry_after_ms
from north_lsp.providers.base import Done, Failed, Text, Timeouts
from tests.providers.adapters.vendors import ANTHROPIC, CONVERSE, QUICK, VENDORS, Vendor, ask
from tests.support.model_server import ModelServer
from tests.support.script import (
    Part,
    answer,
    call,
    cut,
    fail,
    gate,
    malformed,
    raw,
    reset,
    say,
    stream_error,
    think,
)
from tests.support.silence import count_silence_after

each_vendor = pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)


async def failure(vendor: Vendor, server: ModelServer, *parts: Part, timeouts: Timeouts | None = None) -> Failed:
    server.script(answer(*parts))
    events = await ask(vendor.make(server.url, timeouts))
    assert sum(isinstance(event, Done | Failed) for event in events) == 1
    last = events[-1]
    assert isinstance(last, Failed)
    assert last.message
    assert "\n" not in last.message
    assert "SOME_KEY=" not in last.message
    return last


@each_vendor
@pytest.mark.parametrize(
    ("status", "type", "text", "kind", "retryable", "step"),
    [
        (400, "invalid_request_error", "temperature is wrong", "bad_request", False, "choose another model"),
        (401, "authentication_error", "invalid x-api-key", "auth", False, "check the key in SOME_KEY"),
        (402, "billing_error", "pay first", "quota_exhausted", False, "add credit"),
        (403, "permission_error", "not yours", "auth", False, "check the key"),
        (404, "not_found_error", "model: m-1", "bad_request", False, "check that it offers the model 'm-1'"),
        (413, "request_too_large", "too large", "bad_request", False, "start a new conversation"),
        (429, "rate_limit_error", "slow down", "rate_limit", True, "wait a moment"),
        (429, "insufficient_quota", "You exceeded your current quota", "quota_exhausted", False, "add credit"),
        (500, "api_error", "oops", "overloaded", True, "try again"),
        (502, "api_error", "bad gateway", "overloaded", True, "try again"),
        (503, "api_error", "unavailable", "overloaded", True, "try again"),
        (529, "overloaded_error", "Overloaded", "overloaded", True, "try again"),
    ],
)
async def test_an_error_answer(
    server: ModelServer, vendor: Vendor, status: int, type: str, text: str, kind: str, retryable: bool, step: str
) -> None:
    failed = await failure(vendor, server, fail(status, type, text))
    assert (failed.kind, failed.status, failed.retryable) == (kind, status, retryable)
    assert f"The Server answered {status}: {text}" in failed.message
    assert step in failed.message
    assert len(server.requests) == 1  # the SDK has not tried again by itself


@each_vendor
@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        (400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
        (400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        (400, "context_length_exceeded", "Your input exceeds the context window of this model."),
        (400, "invalid_request_error", "This model's maximum context length is 32768 tokens. However, you requested"),
        (400, "exceed_context_size_error", "the request exceeds the available context size, try increasing it"),
        (400, "", "The number of tokens to keep from the initial prompt is greater than the context length"),
        (400, "invalid_request_error", "This model's maximum prompt length is 131072 but the request contains 200000"),
        (500, "server_error", "the request exceeds the available context size"),
        (413, "request_too_large", "Please reduce the length of the messages or completion"),
    ],
)
async def test_a_conversation_that_does_not_fit(
    server: ModelServer, vendor: Vendor, status: int, code: str, text: str
) -> None:
    failed = await failure(vendor, server, fail(status, code, text))
    assert (failed.kind, failed.retryable) == ("context_overflow", False)
    assert "start a new one" in failed.message


@each_vendor
@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7000),
        ({"retry-after-ms": "250", "retry-after": "7"}, 250),
        ({"x-ratelimit-reset-ms": "1500"}, 1500),
        ({"x-ratelimit-reset": "3"}, 3000),
        ({"retry-after": "soon"}, None),
    ],
)
async def test_how_long_the_server_asks_to_wait(
    server: ModelServer, vendor: Vendor, headers: dict[str, str], wait: int | None
) -> None:
    failed = await failure(vendor, server, fail(429, "rate_limit_error", "slow down", headers))
    assert failed.retry_after_ms == wait


def test_times_to_wait_until() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    at = now.timestamp()
    assert retry_after_ms({"retry-after": format_datetime(now + timedelta(seconds=9), usegmt=True)}, at) == 9000
    assert retry_after_ms({"x-ratelimit-reset": str(at + 5)}, at) == 5000
    assert retry_after_ms({"x-ratelimit-reset-ms": str((at + 5) * 1000)}, at) == 5000
    assert retry_after_ms({"retry-after": "-3"}, at) is None
    assert retry_after_ms({"retry-after": "nan"}, at) is None


@each_vendor
@pytest.mark.parametrize(
    "parts",
    [
        [say("half of the text"), cut()],
        [think("half a thought"), cut()],
        [say("before. "), call("read_file", path="a.py", startLine=3), cut()],
        [say("half of"), malformed(b"data: {broken\n\n" * 21)],
    ],
    ids=["text", "thinking", "call", "malformed"],
)
async def test_a_stream_that_breaks_keeps_what_had_arrived(
    server: ModelServer, vendor: Vendor, parts: list[Part]
) -> None:
    failed = await failure(vendor, server, *parts)
    assert (failed.kind, failed.retryable) == ("network", True)
    assert failed.partial.blocks
    assert failed.partial.stop_reason == "error"
    if isinstance(failed.partial.blocks[0], Text):
        assert failed.partial.text


@each_vendor
async def test_an_error_within_the_stream(server: ModelServer, vendor: Vendor) -> None:
    failed = await failure(vendor, server, say("half of"), stream_error("overloaded_error", "Overloaded"))
    assert (failed.kind, failed.retryable) == ("overloaded", True)
    assert "The Server reported an error: Overloaded" in failed.message
    assert failed.partial.text == "half of"


@each_vendor
@pytest.mark.parametrize(
    "body", [b"", b": only a comment\n\n", b"data: [DONE]\n\n"], ids=["nothing", "comment", "done"]
)
async def test_a_stream_without_an_answer(server: ModelServer, vendor: Vendor, body: bytes) -> None:
    failed = await failure(vendor, server, raw(body))
    assert (failed.kind, failed.retryable) == ("network", True)
    assert ("ended early" if vendor is not CONVERSE or not body else "is not an event stream") in failed.message


@each_vendor
@pytest.mark.parametrize(
    ("body", "type", "status"),
    [
        (b"<html>Welcome to my site</html>", "text/html", 200),
        (b'{"hello": "world"}', "application/json", 200),
        (b"<html>no such page</html>", "text/html", 404),
        (b"Method Not Allowed", "text/plain", 405),
        (b"Welcome to my site", "text/plain", 200),
        (b"\x7fELF", "application/octet-stream", 200),
    ],
)
async def test_an_address_that_is_no_model_server(
    server: ModelServer, vendor: Vendor, body: bytes, type: str, status: int
) -> None:
    failed = await failure(vendor, server, raw(body, type, status))
    assert (failed.kind, failed.retryable) == ("bad_request", False)
    assert "is a model server's address" in failed.message
    assert server.url in failed.message


@each_vendor
async def test_an_error_with_status_200(server: ModelServer, vendor: Vendor) -> None:
    body = b'{"error": {"type": "rate_limit_error", "message": "too fast"}}'
    failed = await failure(vendor, server, raw(body, "application/json"))
    assert failed.kind == "rate_limit"


@each_vendor
async def test_a_redirect_is_not_followed(server: ModelServer, vendor: Vendor) -> None:
    elsewhere = {"location": "https://elsewhere.example/v1"}
    failed = await failure(vendor, server, fail(307, "", "", elsewhere))
    assert failed.kind == "bad_request"
    assert "https://elsewhere.example/v1" in failed.message


@each_vendor
async def test_a_connection_reset_before_the_answer(server: ModelServer, vendor: Vendor) -> None:
    failed = await failure(vendor, server, reset())
    assert (failed.kind, failed.retryable) == ("network", True)
    assert "check the network" in failed.message


@each_vendor
async def test_a_server_that_is_not_there(vendor: Vendor) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        events = await ask(vendor.make(f"http://127.0.0.1:{taken.getsockname()[1]}"))
    assert len(events) == 1
    failed = events[0]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == ("network", True)
    assert "is right and running" in failed.message


@each_vendor
async def test_a_server_that_speaks_something_else(vendor: Vendor) -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def greet(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.send(b"220 mail.example ESMTP ready\r\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, greet)
        events = await ask(vendor.make(f"http://127.0.0.1:{port}"))
        tasks.cancel_scope.cancel()
    await listener.aclose()
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert failed.kind == "network"
    assert re.search(r"http://127.0.0.1:\d+", failed.message)


@each_vendor
async def test_a_stall_says_which_limit_was_hit(
    server: ModelServer, vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_silence_after(b"half", monkeypatch)
    failed = await failure(vendor, server, say("half", 1), gate("never"), timeouts=QUICK)
    assert (failed.kind, failed.retryable) == ("network", True)
    assert "nothing came for 0.2 s" in failed.message
    assert failed.partial.text == "half"


@each_vendor
async def test_a_request_that_takes_too_long(server: ModelServer, vendor: Vendor) -> None:
    failed = await failure(vendor, server, say("half"), gate("never"), timeouts=Timeouts(2, 10, 0.2))
    assert "did not continue for 0.2 s" in failed.message
    assert failed.retryable


async def test_what_a_server_says_cannot_steer_the_editor(server: ModelServer) -> None:
    failed = await failure(ANTHROPIC, server, fail(400, "x", "bad\n\n\x1b[31m\u202e" + "long " * 500))
    assert "\x1b" not in failed.message
    assert "\u202e" not in failed.message
    assert len(failed.message) < 700
