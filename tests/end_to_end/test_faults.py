"""Every way in which a model's answer goes wrong, for every vendor: what the user sees, what the model gets next, what
the log keeps."""

import json
import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from north_lsp.tools import shipped
from north_lsp.tools.base import Tool
from tests.end_to_end.world import PACE, SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import (
    Answer,
    Call,
    Cut,
    Fail,
    Gate,
    Malformed,
    Raw,
    Reset,
    Say,
    StreamError,
    Think,
    answer,
)
from tests.support.silence import count_silence_after

GOOD = answer(Say("All is well."))
CUT_CALL = answer(Say("I will look."), Call("read_file", {"path": "json/decoder.py"}, "toolu_cut"), Cut())
APIS = {
    "anthropic-messages": "",
    "openai-responses": "/v1",
    "openai-completions": "/v1",
    "google-generative-ai": "/v1beta",
    "bedrock-converse-stream": "",
}
"""The APIs, and what stands behind the server's address."""
each_api = pytest.mark.parametrize("api", APIS, ids=("anthropic", "responses", "chat", "google", "converse"))


@dataclass(frozen=True)
class Fault:
    """`first` goes wrong. Where it is asked for `again`, the good answer follows; else it is a failure of a `kind`, and
    `says` is what the user reads. `before` is what the user has seen of the broken answer."""

    first: Answer
    again: bool = True
    kind: str = ""
    says: str = ""
    before: str = ""


def fail(status: int, type: str, message: str, **headers: str) -> Answer:
    return answer(Fail(status, type, message, {name.replace("_", "-"): value for name, value in headers.items()}))


def lasts(first: Answer, kind: str, says: str) -> Fault:
    return Fault(first, False, kind, says)


FAULTS = {
    "429": Fault(fail(429, "rate_limit_error", "slow down")),
    "429 with retry-after": Fault(fail(429, "rate_limit_error", "slow down", retry_after="0")),
    "429 for too long": lasts(
        fail(429, "rate_limit_error", "slow down", retry_after="7200"), "rate_limit", "try again at"
    ),
    "500": Fault(fail(500, "api_error", "internal")),
    "502": Fault(fail(502, "api_error", "bad gateway")),
    "503": Fault(fail(503, "api_error", "unavailable")),
    "529": Fault(fail(529, "overloaded_error", "overloaded")),
    "overloaded in the stream": Fault(answer(StreamError("overloaded_error", "Overloaded"))),
    "reset before the headers": Fault(answer(Reset())),
    "cut in text": Fault(answer(Say("Half of it and then nothing more"), Cut()), before="Half"),
    "cut in thinking": Fault(answer(Think("Let me think about it"), Cut())),
    "cut in a call": Fault(CUT_CALL, before="I will look."),
    "malformed": Fault(answer(Malformed(b"event: content_block_delta\ndata: {nonsense\n\n" * 25))),
    "empty stream": Fault(answer(Raw(b""))),
    "stall": Fault(answer(Say("I am", 1), Gate("never")), before="I am"),
    "no stream": lasts(
        answer(Raw(b"<h1>Welcome</h1>", "text/html")), "bad_request", "check that it is a model server's address"
    ),
    "401": lasts(fail(401, "authentication_error", "invalid x-api-key"), "auth", "check the key in "),
    "400": lasts(fail(400, "invalid_request_error", "tools.0: unknown field"), "bad_request", "tools.0: unknown field"),
    "context overflow": lasts(answer(), "context_overflow", "start a new one, or choose a model with a larger window"),
}
OVERFLOWS = {
    "anthropic-messages": fail(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    "openai-responses": fail(400, "context_length_exceeded", "Your input exceeds the context window of this model."),
    "openai-completions": fail(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens."),
    "google-generative-ai": fail(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed.",
    ),
    "bedrock-converse-stream": fail(400, "ValidationException", "Input is too long for requested model."),
}


def texts(client: RawAcpClient) -> str:
    return "".join(
        params["update"]["content"]["text"]
        for params in client.updates
        if params["update"]["sessionUpdate"] == "agent_message_chunk"
    )


async def prompt(client: RawAcpClient, session: str, text: str) -> str:
    """The stop reason, or the error's message."""
    blocks = [{"type": "text", "text": text}]
    try:
        return str((await client.request("session/prompt", {"sessionId": session, "prompt": blocks}))["stopReason"])
    except RpcFailure as failure:
        return failure.message


def sent(server: ModelServer) -> list[list[tuple[str, str]]]:
    """What each request told the model: roles and texts, alike for all vendors."""
    return [list(_rows(request.body)) for request in server.requests]


def _rows(body: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for item in body.get("messages") or body.get("contents") or body["input"]:
        role = {"model": "assistant"}.get(item.get("role"), item.get("role") or item.get("type"))
        if role in ("system", "developer"):
            continue
        parts = item.get("content") or item.get("parts") or json.dumps(item)
        if not isinstance(parts, str):
            parts = " ".join(str(part.get("text") or part.get("content") or part.get("type", part)) for part in parts)
        rows.append((role, parts))
    return rows


def entries(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in world.log_entries()]


def configure(world: World, **settings: object) -> None:
    (world.folder / "config" / "config.json").write_text(json.dumps(PACE | settings))


def serve(world: World, api: str, url: str, *ids: str) -> None:
    """A provider of the user's own, `there/m-1` (or `ids`), that speaks this API at this address."""
    models = [{"id": id, "reasoning": True} for id in ids or ("m-1",)]
    there = {"baseUrl": url + APIS[api], "api": api, "apiKey": "sk-test-0123456789", "models": models}
    (world.folder / "config" / "models.json").write_text(json.dumps({"providers": {"there": there}}))


async def opened(client: RawAcpClient, world: World) -> str:
    return str((await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"])


async def check_the_rest(client: RawAcpClient, world: World, server: ModelServer, session: str, *said: str) -> None:
    """Nothing is lost or doubled: the next prompt has what came before it, once; the log has each entry once; and what
    is shown when it is loaded is what was shown."""
    server.script(answer(Say("Bye.")))
    assert await prompt(client, session, "Good bye") == "end_turn"
    last = sent(server)[-1]
    assert [text for role, text in last if role == "user"][-1].endswith("Good bye")
    told = json.dumps(last)
    for text in said:
        assert told.count(text) == 1
    assert "Half" not in told
    assert "toolu_cut" not in server.requests[-1].raw.decode()
    kept = entries(world)
    assert max(Counter(entry["id"] for entry in kept if "id" in entry).values()) == 1
    users = [entry for entry in kept if entry.get("message", {}).get("role") == "user"]
    assert len(users) == 2
    calls = {
        block["id"]
        for entry in kept
        if entry.get("message", {}).get("role") == "assistant"
        for block in entry["message"]["content"]
        if block["type"] == "tool_call"
    }
    results = [entry["message"]["toolCallId"] for entry in kept if entry.get("message", {}).get("role") == "toolResult"]
    assert sorted(results) == sorted(calls)
    before = texts(client)
    await client.request("session/close", {"sessionId": session})
    client.updates.clear()
    where = {"cwd": str(world.project), "mcpServers": []}
    await client.request("session/load", {"sessionId": session, **where})
    assert texts(client) == before


@each_api
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault(world: World, server: ModelServer, api: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FAULTS[name]
    count_silence_after(b"I am", monkeypatch)
    first = OVERFLOWS[api] if name == "context overflow" else fault.first
    configure(world, **{"provider.idleTimeoutS": 1})
    serve(world, api, server.url)
    server.script(first, GOOD) if fault.again else server.script(first)
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        blocks = [{"type": "text", "text": "How are you?"}]
        answered = await client.request("session/prompt", {"sessionId": session, "prompt": blocks})
        assert answered["stopReason"] == "end_turn"
        shown = texts(client)
        if fault.again:
            assert shown.startswith(fault.before)
            assert shown.endswith("All is well.")
            assert shown.count("All is well.") == 1
            assert (len(shown) > len("All is well.")) == bool(fault.before)
            # The model is not told of what went wrong: it gets the same request again.
            requests = sent(server)
            assert len(requests) == 2
            assert requests[0] == requests[1]
            await check_the_rest(client, world, server, session, "How are you?", "All is well.")
        else:
            assert shown.count(fault.says) == 1
            error = answered["_meta"]["north"]["error"]
            assert error["kind"] == fault.kind
            assert len(server.requests) == 1
            await check_the_rest(client, world, server, session, "How are you?")


async def test_a_call_of_an_answer_that_finally_failed_says_why_it_did_not_run(
    world: World, server: ModelServer
) -> None:
    configure(world, **{"retry.enabled": False})
    server.script(CUT_CALL)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "How are you?") == "end_turn"
        ended = [row for row in calls(client, "toolu_cut") if row.get("status") == "failed"]
        (told,) = [block["content"]["text"] for row in ended for block in row["content"]]
        assert told.startswith("not run: the answer from Anthropic broke off")


def calls(client: RawAcpClient, id: str) -> Sequence[dict[str, Any]]:
    updates = [params["update"] for params in client.updates]
    return [update for update in updates if update.get("toolCallId") == id]


@each_api
async def test_an_address_that_nobody_listens_at(world: World, server: ModelServer, api: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configure(world)
    nowhere = f"http://127.0.0.1:{port}"
    serve(world, api, nowhere)
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "How are you?") == "end_turn"
        failed = "could not be reached (All connection attempts failed); check the network, and that "
        assert texts(client).count(f"{failed}{nowhere}{APIS[api]} is right and running") == 1
        titles = [update["title"] for update in retries(client) if "title" in update]
        assert titles[0].startswith("Trying again in 1 s (2 of 5): there could not be reached")
        assert sum(update["sessionUpdate"] == "tool_call" for update in retries(client)) == 4 + 3 + 4 * 3
        serve(world, api, server.url)
        await check_the_rest(client, world, server, session, "How are you?")


def retries(client: RawAcpClient) -> Sequence[dict[str, Any]]:
    updates = [params["update"] for params in client.updates]
    return [update for update in updates if str(update.get("toolCallId", "")).startswith("retry-")]


@pytest.mark.parametrize(("word", "ok"), [("now", True), ("abort", True)])
async def test_the_user_ends_the_wait(world: World, server: ModelServer, word: str, ok: bool) -> None:
    configure(world, **{"retry.baseDelayMs": 100_000, "retry.requestMaxRetries": 0})
    server.script(fail(529, "overloaded_error", "overloaded"), *([GOOD] if word == "now" else []))
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        where = {"cwd": str(world.project), "mcpServers": []}
        session = str((await client.request("session/new", where))["sessionId"])
        nothing = await client.request(f"_north/retry/{word}", {"sessionId": session})
        assert nothing == {"ok": False}
        request = await client.start_request(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
        )
        waiting = await client.wait_update(lambda update: str(update.get("toolCallId", "")).startswith("retry-"))
        assert waiting["title"].startswith("Trying again in 100 s (1 of 3)")
        assert await client.request(f"_north/retry/{word}", {"sessionId": session}) == {"ok": ok}
        assert (await client.answer(request))["stopReason"] == "end_turn"
        ended = retries(client)[-1]
        if word == "now":
            assert ended["status"] == "completed"
            assert texts(client) == "All is well."
        else:
            assert ended["status"] == "failed"
            assert "cancelled by the user" in texts(client)


async def test_a_cancel_ends_the_wait(world: World, server: ModelServer) -> None:
    configure(world, **{"retry.baseDelayMs": 100_000, "retry.requestMaxRetries": 0})
    server.script(fail(529, "overloaded_error", "overloaded"))
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        where = {"cwd": str(world.project), "mcpServers": []}
        session = str((await client.request("session/new", where))["sessionId"])
        blocks = [{"type": "text", "text": "hello"}]
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await client.wait_update(lambda update: str(update.get("toolCallId", "")).startswith("retry-"))
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(request))["stopReason"] == "cancelled"
        assert retries(client)[-1]["status"] == "failed"


async def test_a_tool_that_cannot_be_imported_costs_its_calls_alone(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = shipped._imported

    def without_one(name: str) -> Tool:
        if name == "read_file":
            raise ModuleNotFoundError("No module named 'north_lsp.tools.read.read_file'")
        return imported(name)

    monkeypatch.setattr(shipped, "_imported", without_one)
    both = (Call("read_file", {"path": "README.md"}, "toolu_1"), Call("find_files", {"pattern": "*.md"}, "toolu_2"))
    server.script(answer(*both), GOOD)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "How are you?") == "end_turn"
        assert "All is well." in texts(client)
        assert [calls(client, f"toolu_{n}")[-1]["status"] for n in (1, 2)] == ["failed", "completed"]
        results = json.dumps(server.requests[-1].body["messages"][-1])
        assert "read_file failed in North (ModuleNotFoundError)" in results
        await client.request("session/close", {"sessionId": session})
        client.updates.clear()
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        assert calls(client, "toolu_1")[0]["title"] == "read_file"
