"""Numbers about turns, as OpenTelemetry's spans: from events, and from a running server to a collector."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from north_lsp.server.telemetry import MISSING, NO_ENDPOINT, Telemetry
from tests.end_to_end.test_faults import configure, prompt
from tests.end_to_end.test_sessions import another
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def test_events_become_spans_below_their_turn() -> None:
    pytest.importorskip("opentelemetry.sdk")
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    spans, numbers = InMemorySpanExporter(), InMemoryMetricReader()
    traces = TracerProvider(shutdown_on_exit=False)
    traces.add_span_processor(SimpleSpanProcessor(spans))
    observe = Telemetry(traces, MeterProvider([numbers], shutdown_on_exit=False)).observe
    a = {"sessionId": "a"}
    observe("user_prompt", a | {"mode": "agent", "length": 7, "traceparent": f"00-{TRACE}-{PARENT}-01"})
    observe("user_prompt", {"sessionId": "b", "mode": "ask"})
    observe("model_request_start", a | {"requestId": "1", "provider": "p", "model": "m"})
    observe("api_retry_attempt", a | {"layer": "request"})
    observe("model_request_error", a | {"requestId": "1", "kind": "network", "status": 500})
    observe("model_request_start", a | {"requestId": "2", "provider": "p", "model": "m"})
    usage = {"input": 10, "output": 2, "cache_read": 0}
    observe("model_request_complete", a | {"requestId": "2", "usage": usage, "cost": 0.5, "stopReason": "stop"})
    observe("tool_call_start", a | {"callId": "c", "toolName": "read_file", "argsSummary": {"path": "secret.txt"}})
    observe("tool_call_start", a | {"callId": "d", "toolName": "shell_run"})
    observe("tool_call_complete", a | {"callId": "c", "ok": False, "errorCode": "NOT_FOUND"})
    observe("cancel_complete", a | {"durationMs": 5})
    observe("unknown", a | {"callId": object()})
    finished: list[Any] = list(spans.get_finished_spans())
    ended = {str(span.attributes.get("tool.name", span.name)): span for span in finished}
    turn = ended["turn"]
    assert (f"{turn.context.trace_id:032x}", f"{turn.parent.span_id:016x}") == (TRACE, PARENT)
    assert dict(turn.attributes) == {"mode": "agent", "ok": False, "duration_ms": 5}
    assert all(span.parent.span_id == turn.context.span_id for name, span in ended.items() if name != "turn")
    requests = [span for span in finished if span.name == "model_request"]
    assert [span.status.is_ok for span in requests] == [False, True]
    assert dict(requests[1].attributes) == {
        "provider": "p",
        "model": "m",
        "tokens.input": 10,
        "tokens.output": 2,
        "cost_usd": 0.5,
        "stop_reason": "stop",
    }
    assert ended["read_file"].attributes["error.kind"] == "NOT_FOUND"
    assert ended["shell_run"].attributes["ok"] is False  # it was cancelled with the turn
    assert "secret.txt" not in str([span.to_json() for span in finished])
    data: Any = numbers.get_metrics_data()
    points = {
        (metric.name, *map(str, point.attributes.values())): point.value
        for metric in data.resource_metrics[0].scope_metrics[0].metrics
        for point in metric.data.data_points
    }
    assert points == {
        ("north.tokens", "input"): 10,
        ("north.tokens", "output"): 2,
        ("north.cost",): 0.5,
        ("north.retries", "request"): 1,
    }


@contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A collector on this machine: its address, and what it gets."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((self.path, gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", got
        finally:
            server.shutdown()
            thread.join()


async def test_a_collector_gets_the_turn_and_nothing_of_its_contents(world: World, server: ModelServer) -> None:
    pytest.importorskip("opentelemetry.sdk")
    with collector() as (url, got):
        configure(world, telemetry={"enabled": True, "endpoint": url})
        server.script(answer(call("read_file", path="json/decoder.py")), answer(Say("A secret answer.")))
        async with conversation(world) as (client, session):
            meta = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            words = text_blocks("A secret question")
            asked = {"sessionId": session, "prompt": words, "_meta": meta}
            assert (await client.request("session/prompt", asked))["stopReason"] == "end_turn"
            await client.close_stdin()
            await client.wait_exit()
    sent = b"".join(body for path, body in got if path == "/v1/traces")
    for name in (b"turn", b"model_request", b"tool_call", b"read_file", b"north-lsp", bytes.fromhex(TRACE)):
        assert name in sent
    for name in (b"secret", b"decoder"):
        assert name not in b"".join(body for _, body in got)


async def test_a_collector_gets_contents_if_the_user_wants_that_and_never_secrets(
    world: World, server: ModelServer
) -> None:
    pytest.importorskip("opentelemetry.sdk")
    key = "sk-ant-api03-" + "q" * 40
    with collector() as (url, got):
        configure(world, telemetry={"enabled": True, "endpoint": url, "content": True})
        server.script(answer(call("read_file", path="json/decoder.py")), answer(Say("It decodes quokkas.")))
        async with conversation(world) as (client, session):
            assert await prompt(client, session, f"What of wombats? The key is {key}") == "end_turn"
            await client.close_stdin()
            await client.wait_exit()
    sent = b"".join(body for path, body in got if path == "/v1/traces")
    for text in (b"What of wombats?", b"It decodes quokkas.", b"json/decoder.py", b"content.system"):
        assert text in sent
    assert key.encode() not in b"".join(body for _, body in got)
    assert not (world.folder / "state/north.log").read_text().count("wombats")


async def test_a_collector_that_is_gone_changes_nothing(world: World, server: ModelServer) -> None:
    pytest.importorskip("opentelemetry.sdk")
    configure(world, telemetry={"enabled": True, "endpoint": "http://127.0.0.1:9"})
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "first") == "end_turn"
        await client.close_stdin()
        assert await client.wait_exit() == 0
    assert client.stderr == ""


async def test_telemetry_without_an_address_is_said(world: World, server: ModelServer) -> None:
    configure(world, telemetry={"enabled": True})
    server.script(answer(Say("One.")))
    async with another(world) as client:
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        await client.wait_update(lambda update: NO_ENDPOINT in str(update))
        assert await prompt(client, str(made["sessionId"]), "first") == "end_turn"
    assert "north-lsp[telemetry]" in MISSING
