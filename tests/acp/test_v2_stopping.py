"""Calls and terminals that a client of version 2 stops by themselves: the turn goes on. The official schema of version
2 checks every message."""

import base64
import json
from typing import Any

import pytest

from tests.acp.test_v2 import agent, answering, conversation, fails, idle, prompt, said, updates
from tests.end_to_end.test_mcp import entry, own
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say


def calls(client: RawAcpClient) -> list[dict[str, Any]]:
    return [one for one in updates(client, "tool_call_update") if one.get("name") is None]


async def running(client: RawAcpClient) -> str:
    """The id of the call that can be stopped."""
    update = await client.wait_update(lambda update: (update.get("capabilities") or {}).get("cancel") == {})
    return str(update.get("toolCallId") or update["terminalId"])


@pytest.mark.parametrize(("method", "field"), [("tool_call/cancel", "toolCallId"), ("terminal/cancel", "terminalId")])
async def test_a_command_is_stopped_and_the_turn_goes_on(
    world: World, server: ModelServer, method: str, field: str
) -> None:
    """PATCH-206, 207."""
    server.script(answer(call("shell_run", command="echo here; sleep 600; touch made")), answer(say("All right.")))
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = answering("run")
        await prompt(client, session, "Go")
        id = await running(client)
        await client.wait_update(lambda update: "output" in update)
        here = {"sessionId": session, field: id}
        assert await client.request(method, here) == {}
        assert (await idle(client))["stopReason"] == "end_turn"
        assert (await fails(client, method, here)).code == -32602
        terminal = updates(client, "terminal_update")
        ended = calls(client)[-1]
        assert said(client) == "All right."
        await client.request("session/close", {"sessionId": session})
        client.updates.clear()
        again = {"sessionId": session, "cwd": str(world.project), "replayFrom": {"type": "start"}}
        await client.request("session/resume", again)
        replayed = calls(client)[-1]
        assert updates(client, "terminal_update") == []
    assert terminal[0]["command"] == "echo here; sleep 600; touch made"
    assert terminal[0]["cwd"] == str(world.project)
    assert {one["terminalId"] for one in terminal} == {id}
    output = next(one["output"]["data"] for one in terminal if "output" in one)
    assert base64.b64decode(output).decode().startswith("here")
    assert terminal[-1] == {
        "sessionUpdate": "terminal_update", "terminalId": id, "exitStatus": {}, "capabilities": None,
    }  # fmt: skip
    assert (ended["status"], ended["capabilities"]) == ("cancelled", None)
    assert replayed["status"] == "cancelled"
    assert "the user stopped this call" in json.dumps(server.requests[-1].body["messages"])
    assert not (world.project / "made").exists()


async def test_the_terminal_of_a_command_has_its_exit_code(world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="echo out; exit 3")), answer(say("ok")))
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = answering("run")
        await prompt(client, session, "Go")
        await idle(client)
        terminal, ended = updates(client, "terminal_update"), calls(client)[-1]
        kinds = [one["sessionUpdate"] for one in updates(client)]
    assert terminal[0]["capabilities"] == {"cancel": {}}
    assert terminal[-1]["exitStatus"] == {"exitCode": 3}
    assert (ended["status"], ended["capabilities"]) == ("failed", None)
    assert "out" in json.dumps(ended["content"])
    embedded = next(n for n, one in enumerate(updates(client)) if "'type': 'terminal'" in str(one.get("content")))
    assert kinds.index("terminal_update") < embedded


async def test_a_call_of_a_tool_server_is_stopped(world: World, server: ModelServer) -> None:
    own(world, mine=entry())
    server.script(answer(call("mcp_mine_steps")), answer(say("All right.")))
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = answering("run")
        await prompt(client, session, "Go")
        id = await running(client)
        await client.wait_update(lambda update: "step 2" in str(update.get("content")))
        assert (await fails(client, "terminal/cancel", {"sessionId": session, "terminalId": id})).code == -32602
        assert await client.request("tool_call/cancel", {"sessionId": session, "toolCallId": id}) == {}
        assert (await idle(client))["stopReason"] == "end_turn"
        assert calls(client)[-1]["status"] == "cancelled"
        turns = 1
        while "cancelled: the user cancelled it" not in said(client):
            await prompt(client, session, "/mcp logs mine")
            turns += 1
            await idle(client, turns)


async def test_what_does_not_run_cannot_be_stopped(world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="touch made")), answer(say("ok")))

    async def never(params: dict[str, Any]) -> None:
        return None

    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = never
        await prompt(client, session, "Go")
        asked = await client.wait(lambda message: message.get("method") == "session/request_permission")
        id = asked["params"]["subject"]["toolCallId"]
        for given in ({"toolCallId": id}, {"toolCallId": "none"}, {}):
            assert (await fails(client, "tool_call/cancel", {"sessionId": session, **given})).code == -32602
        assert (await fails(client, "terminal/cancel", {"sessionId": "none", "terminalId": id})).code == -32602
        await client.notify("session/cancel", {"sessionId": session})
        assert (await idle(client))["stopReason"] == "cancelled"
        assert calls(client)[-1]["status"] == "cancelled"


async def test_a_client_that_has_asked_for_its_status_is_told_of_another_one(world: World) -> None:
    key = {"provider": "anthropic", "key": "sk-ant-very-secret-1234", "force": True}
    async with agent(world) as client:
        before = await client.request("auth/status", {})
        await client.request("_north/keys/set", key)
        told = await client.wait(lambda message: message.get("method") == "auth/status_update")
    assert told["params"]["state"] == "authenticated"
    assert told["params"]["accounts"] != before["accounts"]
