"""What the official compatibility kit asks of version 2 and the other tests of it do not show, and that none of its
requirements is without a test."""

import ast
import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.acp.kit_v2 import REQUIREMENTS
from tests.acp.test_v2 import agent, answering, conversation, fails, idle, prompt, updates
from tests.end_to_end.test_mcp import over_http
from tests.end_to_end.world import World, make_world
from tests.support.acp_schema import Oracle
from tests.support.client import RawAcpClient
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, gate, say, think

_FILES = ("test_v2.py", "test_v2_stopping.py", "test_v2_requirements.py")
_STATES = {"running", "requires_action", "idle"}
_PARTS = {"content", "diff", "terminal"}
_IDS = re.compile(r"\b([A-Z]+(?:-[A-Z]+)*)-(\d{3}(?:(?:, (?:and )?| to )\d{3})*)\b")


def named_in(text: str) -> set[str]:
    """The ids in a text: `BATCH-201 to 203, 205`."""
    found = set()
    for whole, numbers in _IDS.findall(text):
        area = whole.removeprefix("ACP-")
        found |= {f"{area}-{number}" for number in re.findall(r"\d+", numbers)}
        for first, last in re.findall(r"(\d+) to (\d+)", numbers):
            found |= {f"{area}-{number:03d}" for number in range(int(first), int(last) + 1)}
    return found


def test_every_requirement_of_the_kit_has_a_test() -> None:
    trees = [ast.parse(path.read_text()) for path in map(Path(__file__).with_name, _FILES)]
    tests = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    documented = [ast.get_docstring(node) or "" for node in tests if node.name.startswith("test_")]
    named = set().union(*map(named_in, documented))
    assert named >= REQUIREMENTS.keys(), f"without a test: {sorted(REQUIREMENTS.keys() - named)}"


def sent_by_agent(client: RawAcpClient) -> list[dict[str, Any]]:
    return [message for sender, message in client.transcript if sender == "agent"]


def values_of(key: str, value: object) -> list[object]:
    """What stands under a key, at any depth."""
    if isinstance(value, dict):
        found = [value[key]] if key in value else []
        return found + [one for inner in value.values() for one in values_of(key, inner)]
    return [one for inner in value for one in values_of(key, inner)] if isinstance(value, list) else []


async def allow(params: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}


async def test_a_turn_with_everything_uses_known_words_alone(world: World, server: ModelServer) -> None:
    """ENUM-202, META-201, EXT-202, SCHEMA-002, PATCH-206, TRANSPORT-002, BATCH-207."""
    (world.project / "a.txt").write_text("one\n")
    server.script(
        answer(think("hm"), say("I look."), call("read_file", path="a.txt")),
        answer(call("edit_replace_exact", path="a.txt", old="one", new="1")),
        answer(call("shell_run", command="echo ran")),
        answer(
            call("todo", ops=[{"op": "init", "list": [{"phase": "Read", "items": ["a"]}]}, {"op": "done", "task": "a"}])
        ),
        answer(say("Done → ✓")),
    )
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = allow
        await prompt(client, session, "Go")
        await idle(client)
        messages = sent_by_agent(client)
    shown = updates(client)
    known = {one["properties"]["sessionUpdate"]["const"] for one in _variants()}
    assert {update["sessionUpdate"] for update in shown} <= known
    assert {update["state"] for update in updates(client, "state_update")} <= _STATES
    contents = [part for update in updates(client, "tool_call_update") for part in update.get("content") or []]
    assert {part["type"] for part in contents} == _PARTS
    opened = updates(client, "terminal_update")
    assert {one["cwd"] for one in opened if "cwd" in one} == {str(world.project)}
    assert "ran" in json.dumps(contents)
    assert all(one is None or isinstance(one, dict) for one in values_of("_meta", messages))
    (opened,) = [message["result"] for message in messages if "authMethods" in message.get("result", {})]
    assert set(opened["capabilities"]) <= {"session", "auth", "providers", "_meta"}
    assert "north" in opened["capabilities"]["_meta"]
    assert all(isinstance(json.loads(line.decode("utf-8")), dict) for line in client.lines)
    with pytest.raises(AssertionError, match="unknown keys"):  # the oracle looks at every message of every test so
        Oracle.load(2).check_result("session/close", {"more": 1}, "agent")


def _variants() -> list[dict[str, Any]]:
    union = Oracle.load(2)._defs["SessionUpdate"]
    return [one for one in union["anyOf"] if "const" in one.get("properties", {}).get("sessionUpdate", {})]


async def test_an_array_with_requests_is_answered_with_one_array(world: World) -> None:
    """BATCH-204, 205, 206, 208, JSONRPC-001, INFO-BATCH-202."""
    async with agent(world) as client:
        before = len(client.lines)
        batch: list[Any] = [
            {"jsonrpc": "2.0", "id": "new", "method": "session/new", "params": {"cwd": str(world.project)}},
            {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "none"}},
            {"jsonrpc": "2.0", "id": 7, "method": "no/such", "params": {}},
            {"jsonrpc": "2.0", "id": 7000, "result": {}},
            "nothing",
            {"jsonrpc": "2.0", "id": 8, "method": "session/list", "params": {}},
        ]
        await client.send_raw(json.dumps(batch).encode() + b"\n")
        await client.wait(lambda message: message.get("id") == "new")
        lines = [json.loads(line) for line in client.lines[before:]]
        (replies,) = [line for line in lines if isinstance(line, list)]
        by_id = {reply["id"]: reply for reply in replies}
        assert len(replies) == 4
        assert by_id.keys() == {"new", 7, None, 8}
        assert by_id["new"]["result"]["sessionId"]
        assert by_id[8]["result"] == {"sessions": []}
        assert (by_id[7]["error"]["code"], by_id[None]["error"]["code"]) == (-32601, -32600)
        assert not [line for line in lines if isinstance(line, dict) and "method" not in line]


async def test_a_request_of_an_array_is_cancelled_alone(world: World, server: ModelServer) -> None:
    """BATCH-204: the array goes out once the last of its requests is answered."""
    server.script(answer(say("one", chunks=1), gate("never")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "1")
        text = {"sessionId": session, "prompt": [{"type": "text", "text": "2"}]}
        batch = [
            {"jsonrpc": "2.0", "id": "waits", "method": "session/prompt", "params": text},
            {"jsonrpc": "2.0", "id": "lists", "method": "session/list", "params": {}},
        ]
        await client.send_raw(json.dumps(batch).encode() + b"\n")
        await client.request("session/list", {})
        assert not [message for message in sent_by_agent(client) if message.get("id") in ("waits", "lists")]
        await client.notify("$/cancel_request", {"requestId": "waits"})
        waits = await client.wait(lambda message: message.get("id") == "waits")
        assert waits["error"]["code"] == -32800
        assert "result" in await client.wait(lambda message: message.get("id") == "lists")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{broken", -32700),
        (b'[{"jsonrpc":"2.0","id":1', -32700),
        (b'{"jsonrpc":"2.0"}', -32600),
        (b'"text"', -32600),
        (b"[" + b",".join([b"1"] * 1001) + b"]", -32600),
    ],
    ids=["no JSON", "an array that is no JSON", "no message", "a text", "a very long array"],
)
async def test_what_makes_no_sense_is_answered_once(world: World, line: bytes, code: int) -> None:
    """INFO-PARSE-001, INFO-INVALIDREQ-001, INFO-BATCH-201, ERROR-001."""
    async with agent(world) as client:
        before = len(sent_by_agent(client))
        await client.send_raw(line + b"\n")
        message = await client.wait(lambda message: "error" in message)
        assert message["error"]["code"] == code
        assert message["error"]["message"].strip()
        assert "\n" not in message["error"]["message"]
        assert "sessions" in await client.request("session/list", {})
        assert len(sent_by_agent(client)) == before + 2


async def test_notifications_of_somebodys_own_are_ignored(world: World) -> None:
    """EXT-201, EXT-203, INFO-CANCEL-201."""
    async with conversation(world) as (client, session):
        for method in ("_own/thing", "$/own", "$/cancel_request", "own/thing"):
            await client.notify(method, {"sessionId": session})
        for id in ("none", session):
            await client.notify("session/cancel", {"sessionId": id})
        assert "sessions" in await client.request("session/list", {})
        answers = [message for message in sent_by_agent(client) if "method" not in message]
        assert len(answers) == 3  # of initialize, session/new and session/list


async def test_a_session_that_nobody_made_is_not_found(world: World) -> None:
    """INFO-UNKNOWNSESSION-001."""
    async with agent(world) as client:
        text = [{"type": "text", "text": "Hello"}]
        assert (await fails(client, "session/prompt", {"sessionId": "none", "prompt": text})).code == -32002


async def test_a_cancel_stops_the_request_to_the_model(world: World, server: ModelServer) -> None:
    """CANCEL-204."""
    server.script(answer(say("working", chunks=1), gate("never")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "Go")
        await client.wait_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        await client.notify("session/cancel", {"sessionId": session})
        assert (await idle(client))["stopReason"] == "cancelled"
        await asyncio.to_thread(server.wait_disconnect)


async def test_a_cancel_withdraws_the_question_that_waits(world: World, server: ModelServer) -> None:
    """INFO-CANCEL-202, CANCEL-204: from a client that uses `$/cancel_request` itself."""
    server.script(answer(call("shell_run", command="touch made")))

    async def never(params: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = never
        await client.notify("$/cancel_request", {"requestId": "none"})
        await prompt(client, session, "Go")
        asked = await client.wait(lambda message: message.get("method") == "session/request_permission")
        await client.notify("session/cancel", {"sessionId": session})
        assert (await idle(client))["stopReason"] == "cancelled"
        withdrawn = await client.wait(lambda message: message.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == asked["id"]
        statuses = [update.get("status") for update in updates(client, "tool_call_update")]
        assert statuses[-1] in ("failed", "cancelled")
    assert not (world.project / "made").exists()


async def test_without_a_key_there_is_a_session_all_the_same(tmp_path: Path) -> None:
    """AUTH-205."""
    async with conversation(make_world(tmp_path / "bare")) as (client, session):
        await prompt(client, session, "Hello")
        assert (await idle(client))["stopReason"] == "end_turn"


async def test_audio_is_not_announced_and_refused(world: World) -> None:
    """PROMPTCAP-002."""
    async with conversation(world) as (client, session):
        (opened,) = [m["result"] for m in sent_by_agent(client) if "authMethods" in m.get("result", {})]
        assert "audio" not in opened["capabilities"]["session"]["prompt"]
        audio = {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}
        failure = await fails(client, "session/prompt", {"sessionId": session, "prompt": [audio]})
        assert failure.code == -32602


async def test_a_tool_server_behind_an_address_is_used(world: World, server: ModelServer) -> None:
    """MCP-202."""
    server.script(answer(call("mcp_remote_echo", text="hello there")), answer(say("ok")))
    with over_http() as url:
        passed = {"type": "http", "name": "remote", "url": url, "headers": []}
        async with agent(world) as client:
            client.handlers["session/request_permission"] = answering("run")
            made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": [passed]})
            await prompt(client, made["sessionId"], "Go")
            assert (await idle(client))["stopReason"] == "end_turn"
    assert "hello there" in json.dumps(server.requests[-1].body["messages"][-1])


async def test_the_end_of_input_is_the_end(world: World, server: ModelServer) -> None:
    """SHUTDOWN-001, STDERR-001."""
    server.script(answer(say("working", chunks=1), gate("never")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "Go")
        await client.wait_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        await client.close_stdin()
        assert await client.wait_exit(300) == 0
    assert client.stderr == ""
