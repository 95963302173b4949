"""Every way in which a model's answer goes wrong: what the user sees, what the model gets next, what the log keeps."""

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
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

GOOD = answer(Say("All is well."))
CUT_CALL = answer(Say("I will look."), Call("read_file", {"path": "json/decoder.py"}, "toolu_cut"), Cut())


@dataclass(frozen=True)
class Fault:
    """`first` goes wrong; where it is asked for `again`, the good answer follows. `says` is what the user reads."""

    first: Answer
    again: bool
    says: str = ""


def fail(status: int, type: str, message: str, **headers: str) -> Answer:
    return answer(Fail(status, type, message, {name.replace("_", "-"): value for name, value in headers.items()}))


FAULTS = {
    "429": Fault(fail(429, "rate_limit_error", "slow down"), True),
    "429 with retry-after": Fault(fail(429, "rate_limit_error", "slow down", retry_after="0"), True),
    "429 for too long": Fault(fail(429, "rate_limit_error", "slow down", retry_after="7200"), False, "try again at"),
    "500": Fault(fail(500, "api_error", "internal"), True),
    "502": Fault(fail(502, "api_error", "bad gateway"), True),
    "503": Fault(fail(503, "api_error", "unavailable"), True),
    "529": Fault(fail(529, "overloaded_error", "overloaded"), True),
    "overloaded in the stream": Fault(answer(StreamError("overloaded_error", "Overloaded")), True),
    "reset before the headers": Fault(answer(Reset()), True),
    "cut in text": Fault(answer(Say("Half of it and then nothing more"), Cut()), True),
    "cut in thinking": Fault(answer(Think("Let me think about it"), Cut()), True),
    "cut in a call": Fault(CUT_CALL, True),
    "malformed": Fault(answer(Malformed(b"event: content_block_delta\ndata: {nonsense\n\n" * 25)), True),
    "empty stream": Fault(answer(Raw(b"")), True),
    "stall": Fault(answer(Say("I am"), Gate("never")), True),
    "no stream": Fault(answer(Raw(b"<h1>Welcome</h1>", "text/html")), False, "where a model's answer was expected"),
    "401": Fault(fail(401, "authentication_error", "invalid x-api-key"), False, "check the key"),
    "400": Fault(fail(400, "invalid_request_error", "tools.0: unknown field"), False, "tools.0: unknown field"),
    "context overflow": Fault(
        fail(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
        False,
        "prompt is too long",
    ),
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
    """What each request told the model: roles and texts."""
    requests = []
    for request in server.requests:
        rows = []
        for message in request.body["messages"]:
            parts = [part.get("text") or part.get("content") or part["type"] for part in message["content"]]
            rows.append((message["role"], " ".join(map(str, parts))))
        requests.append(rows)
    return requests


def entries(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in world.log_entries()]


def configure(world: World, **settings: object) -> None:
    (world.folder / "config" / "config.json").write_text(json.dumps({"retry.baseDelayMs": 8} | settings))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault(world: World, server: ModelServer, fault: Fault) -> None:
    configure(world, **{"provider.idleTimeoutS": 1})
    server.script(fault.first, GOOD) if fault.again else server.script(fault.first)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        where = {"cwd": str(world.project), "mcpServers": []}
        session = str((await client.request("session/new", where))["sessionId"])
        outcome = await prompt(client, session, "How are you?")
        shown = texts(client)
        if fault.again:
            assert outcome == "end_turn"
            assert shown.endswith("All is well.")
            assert shown.count("All is well.") == 1
            # The model is not told of what went wrong: it gets the same request again.
            first, second = sent(server)
            assert first == second
        else:
            assert fault.says in outcome + shown
            assert len(server.requests) == 1
        # Nothing is lost: the next prompt has all that came before it, once.
        server.script(answer(Say("Bye.")))
        assert await prompt(client, session, "Good bye") == "end_turn"
        last = sent(server)[-1]
        assert [role for role, _ in last] == ["user", "assistant"] * (len(last) // 2) + ["user"]
        told = json.dumps(last)
        assert told.count("How are you?") == 1
        assert told.count("All is well.") == (1 if fault.again else 0)
        calls = [entry for entry in entries(world) if entry.get("message", {}).get("role") == "toolResult"]
        assert len(calls) == (1 if fault.first is CUT_CALL else 0)
        before = texts(client)
        await client.request("session/close", {"sessionId": session})
        client.updates.clear()
        await client.request("session/load", {"sessionId": session, **where})
        replayed = texts(client)
        assert replayed == before


async def test_an_address_that_nobody_listens_at(world: World) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = replace(world, url=f"http://127.0.0.1:{port}")
    configure(world)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        where = {"cwd": str(world.project), "mcpServers": []}
        session = str((await client.request("session/new", where))["sessionId"])
        assert await prompt(client, session, "hello") == "end_turn"
        assert (
            f"could not be reached (All connection attempts failed); check the network, and that http://127.0.0.1:{port}"
            in (texts(client))
        )
        titles = [update["title"] for update in retries(client) if "title" in update]
        assert titles[0].startswith("Trying again in 1 s (2 of 5): Anthropic could not be reached")
        assert sum(update["sessionUpdate"] == "tool_call" for update in retries(client)) == 4 + 3 + 4 * 3


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
