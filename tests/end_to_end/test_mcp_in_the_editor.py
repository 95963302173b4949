"""MCP servers that the editor has in itself: every message goes over the connection to it (`mcp/message`)."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from north_lsp.agent.ports.events import CommandInfo
from north_lsp.agent.session.session import Session
from tests.end_to_end.test_faults import prompt
from tests.end_to_end.test_mcp import DONE, NOTICES, command, last_result, notices, offered, questions
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import answer, call

_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_META = "io.modelcontextprotocol/"


class Provider:
    """A server inside of a client. Methods of `odd` answer as that says, in place of what is expected."""

    def __init__(self, client: RawAcpClient, **odd: Callable[[], Any]) -> None:
        self.client = client
        self.asked: list[dict[str, Any]] = []
        self.tools = [{"name": "echo", "description": "Says the text again.", "inputSchema": _TEXT}]
        self._odd = odd
        client.handlers["mcp/message"] = self.take

    @property
    def row(self) -> dict[str, Any]:
        return {"type": "acp", "name": "my tools", "serverId": "tools-1"}

    async def tell(self, asked: dict[str, Any], method: str, **params: Any) -> None:
        about = {key: asked[key] for key in ("serverId", "requestId")}
        await self.client.notify("mcp/message", {**about, "method": method, "params": params})

    async def take(self, asked: dict[str, Any]) -> Any:
        self.asked.append(asked)
        method, params = asked["method"], asked["params"]
        if (odd := self._odd.get(method.replace("/", "_"))) is not None:
            return odd()
        if method == "server/discover":
            lists = {"tools": {"listChanged": True}}
            about = {f"{_META}serverInfo": {"name": "mine", "version": "3"}}
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": lists, "_meta": about}}
        if method == "tools/list":
            return {"result": {"resultType": "complete", "tools": self.tools}}
        if method == "subscriptions/listen":
            await self.tell(asked, "notifications/subscriptions/acknowledged", notifications=params["notifications"])
            return None
        await self.tell(asked, "notifications/progress", progressToken=params["_meta"]["progressToken"], progress=7)
        text = params["arguments"]["text"]
        if text == "wait":
            return None
        return {"result": {"resultType": "complete", "content": [{"type": "text", "text": f"echo: {text}"}]}}


async def opened(client: RawAcpClient, world: World, provider: Provider) -> str:
    async def decide(params: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": {"outcome": "selected", "optionId": "run"}}

    client.handlers["session/request_permission"] = decide
    made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": [provider.row]})
    return str(made["sessionId"])


ECHO = answer(call("mcp_my_tools_echo", text="hello"))


async def test_a_tool_of_the_editor_is_asked_about_and_called(world: World, server: ModelServer) -> None:
    server.script(ECHO, DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        provider = Provider(client)
        session = await opened(client, world, provider)
        assert await prompt(client, session, "Say hello") == "end_turn"
        told = await command(client, session, "/mcp")
        (question,) = questions(client)
    assert "mcp_my_tools_echo" in offered(server)
    assert "echo: hello" in last_result(server)
    assert "my-tools" in json.dumps(question)
    assert "`my-tools`: ready, mine 3" in told
    assert "in the editor" in told
    assert [one["method"] for one in provider.asked] == [
        "server/discover", "tools/list", "subscriptions/listen", "tools/call",
    ]  # fmt: skip
    assert len({one["requestId"] for one in provider.asked}) == 4
    for one in provider.asked:
        assert one["serverId"] == "tools-1"
        assert one["params"]["_meta"][f"{_META}protocolVersion"] == "2026-07-28"
        assert one["params"]["_meta"][f"{_META}clientCapabilities"] == {}
    assert any("7" in json.dumps(one["update"].get("content")) for one in client.updates)


async def test_its_tools_are_there_for_a_prompt_that_comes_at_once(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a prompt overtakes what is told after a session has been opened."""
    overtaken, find = asyncio.Event(), Session.refresh_commands

    async def late(self: Session) -> tuple[CommandInfo, ...]:
        await overtaken.wait()
        return await find(self)

    monkeypatch.setattr(Session, "refresh_commands", late)
    server.script(ECHO, DONE, ECHO, DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        session = await opened(client, world, Provider(client))
        assert await prompt(client, session, "Say hello") == "end_turn"
        assert "echo: hello" in last_result(server)
        theirs = {"type": "acp", "name": "theirs", "serverId": "tools-2"}
        again = {"sessionId": session, "cwd": str(world.project), "mcpServers": [theirs]}
        await client.request("session/load", again)
        assert await prompt(client, session, "Say hello") == "end_turn"
        overtaken.set()
    assert "mcp_theirs_echo" in offered(server)
    assert "mcp_my_tools_echo" not in offered(server)


async def test_a_call_is_withdrawn_with_its_turn(world: World, server: ModelServer) -> None:
    server.script(answer(call("mcp_my_tools_echo", text="wait")), DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        session = await opened(client, world, Provider(client))
        blocks = text_blocks("Wait")
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        asked = await client.wait(lambda message: message.get("params", {}).get("method") == "tools/call")
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(running))["stopReason"] == "cancelled"
        withdrawn = await client.wait(lambda message: message.get("method") == "$/cancel_request")
    assert withdrawn["params"] == {"requestId": asked["id"]}


async def test_tools_that_change_are_listed_again(world: World, server: ModelServer) -> None:
    server.script(DONE, DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        provider = Provider(client)
        session = await opened(client, world, provider)
        assert await prompt(client, session, "Hello") == "end_turn"
        assert "mcp_my_tools_more" not in offered(server)
        await client.wait(lambda message: message.get("params", {}).get("method") == "subscriptions/listen")
        provider.tools.append({"name": "more", "description": "More.", "inputSchema": {"type": "object"}})
        await provider.tell(provider.asked[-1], "notifications/tools/list_changed")
        while "listed again" not in await command(client, session, "/mcp logs my-tools"):
            await asyncio.sleep(0.01)
        assert await prompt(client, session, "Again") == "end_turn"
    assert "mcp_my_tools_more" in offered(server)


def gone() -> Any:
    raise RpcFailure({"code": -33001, "message": "MCP server registration unavailable"})


async def test_a_server_that_is_taken_away_costs_its_own_call(world: World, server: ModelServer) -> None:
    server.script(ECHO, DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        session = await opened(client, world, Provider(client, tools_call=gone))
        assert await prompt(client, session, "Say hello") == "end_turn"
        assert "the editor has removed the server" in last_result(server)
        await client.wait_update(lambda update: "my-tools is not available" in json.dumps(update))


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ({"error": {"code": -32022, "message": "Unsupported protocol version"}}, "-32022: Unsupported protocol"),
        ({"result": {"supportedVersions": ["2025-11-25"], "capabilities": {}}}, "does not speak version 2026-07-28"),
        ({"result": 7}, "its result is not an object"),
        ({"error": "no"}, "does not follow the protocol"),
        ("nothing", "does not follow the protocol"),
    ],
)
async def test_a_server_that_answers_wrongly_says_why(world: World, server: ModelServer, odd: object, why: str) -> None:
    server.script(DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        session = await opened(client, world, Provider(client, server_discover=lambda: odd))
        assert await prompt(client, session, "Hello") == "end_turn"
        await client.wait_update(lambda update: "my-tools is not available" in json.dumps(update))
        assert any(why in one for one in notices(client))


async def test_what_is_asked_in_the_middle_of_a_call_is_not_answered(world: World, server: ModelServer) -> None:
    server.script(ECHO, DONE)
    odd = {"result": {"resultType": "input_required", "inputRequests": {}}}
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        session = await opened(client, world, Provider(client, tools_call=lambda: odd))
        assert await prompt(client, session, "Say hello") == "end_turn"
    assert "asks for something in the middle" in last_result(server)


async def test_a_flood_of_what_nobody_asked_for_changes_nothing(world: World, server: ModelServer) -> None:
    server.script(ECHO, DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        provider = Provider(client)
        session = await opened(client, world, provider)
        await client.wait(lambda message: message.get("params", {}).get("method") == "subscriptions/listen")
        asked = {"serverId": "tools-1", "requestId": provider.asked[-1]["requestId"]}
        for number in range(3000):
            await provider.tell(asked if number % 2 else {**asked, "requestId": "none"}, f"notifications/x{number}")
        odd = {**asked, "method": "x", "params": 7}
        wrongs: list[dict[str, Any]] = [{}, {"serverId": [], "requestId": {}}, {**asked, "method": 7}, odd]
        for wrong in wrongs:
            await client.notify("mcp/message", wrong)
        assert await prompt(client, session, "Say hello") == "end_turn"
        with pytest.raises(RpcFailure) as failure:  # only the client is asked
            await client.request("mcp/message", {**asked, "method": "tools/list"})
    assert failure.value.code == -32601
    assert "echo: hello" in last_result(server)


async def test_a_server_without_an_id_is_not_started(world: World, server: ModelServer) -> None:
    server.script(DONE)
    async with inside(world.environ, None, {"events": True}, NOTICES) as client:
        row = {"type": "acp", "name": "mine"}
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": [row]})
        await client.wait_update(lambda update: "its `serverId` must be a string" in json.dumps(update))
        assert await prompt(client, made["sessionId"], "Hello") == "end_turn"
