"""Protocol version 2, the draft, against the real process. The official schema of version 2 checks every message; the
ids are those of the official compatibility kit."""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.end_to_end.test_agents import submit, task, tasks
from tests.end_to_end.world import SERVER, World
from tests.support import mcp_server
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.png import png
from tests.support.script import answer, call, gate, say, think
from tests.support.selecting import selected

INFO = {"name": "test", "version": "1"}


@asynccontextmanager
async def agent(world: World, **capabilities: Any) -> AsyncIterator[RawAcpClient]:
    async with raw_client([*SERVER, "acp"], world.environ, world.project, version=2) as client:
        await client.request("initialize", {"protocolVersion": 2, "info": INFO, "capabilities": capabilities})
        yield client


@asynccontextmanager
async def conversation(world: World, **capabilities: Any) -> AsyncIterator[tuple[RawAcpClient, str]]:
    async with agent(world, **capabilities) as client:
        yield client, (await client.request("session/new", {"cwd": str(world.project)}))["sessionId"]


def answering(option: str) -> Any:
    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        return selected(params, option)

    return handler


async def prompt(client: RawAcpClient, session: str, *blocks: str | dict[str, Any]) -> str:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return str((await client.request("session/prompt", {"sessionId": session, "prompt": content}))["messageId"])


def updates(client: RawAcpClient, kind: str | None = None) -> list[dict[str, Any]]:
    found = [params["update"] for params in client.updates]
    return [update for update in found if kind in (None, update["sessionUpdate"])]


async def idle(client: RawAcpClient, number: int = 1) -> dict[str, Any]:
    """The state update that ends the nth turn."""

    def ended() -> list[dict[str, Any]]:
        return [update for update in updates(client, "state_update") if update["state"] == "idle"]

    await client.wait(lambda _: len(ended()) >= number)
    return ended()[number - 1]


def said(client: RawAcpClient) -> str:
    return "".join(update["content"]["text"] for update in updates(client, "agent_message_chunk"))


async def fails(client: RawAcpClient, method: str, params: dict[str, Any]) -> RpcFailure:
    with pytest.raises(RpcFailure) as failure:
        await client.request(method, params)
    return failure.value


@pytest.mark.parametrize(("asked", "got"), [(1, 1), (2, 2), (3, 2), (65535, 2), (0, 2)])
async def test_init_versions(world: World, asked: int, got: int) -> None:
    """ACP-INIT-001, 003, 201, 202."""
    async with raw_client([*SERVER, "acp"], world.environ, world.project, version=got) as client:
        params = {"protocolVersion": asked, "info": INFO}
        assert (await client.request("initialize", params))["protocolVersion"] == got


async def test_init_shape(world: World) -> None:
    """ACP-INIT-203, 204, SCHEMA-001, AUTH-201, 202, 206."""
    async with agent(world) as client:
        (result,) = [message["result"] for sender, message in client.transcript if sender == "agent"]
    assert result["info"]["name"] == "north"
    assert result["capabilities"]["session"]["prompt"] == {"image": {}, "embeddedContext": {}}
    assert result["capabilities"]["session"]["delete"] == {}
    assert [one["type"] for one in result["authMethods"]] == ["agent"]


async def test_a_terminal_is_offered_to_a_client_that_has_one(world: World) -> None:
    """ACP-AUTH-202, 207, 203, 204."""
    async with agent(world, auth={"terminal": {}}) as client:
        (result,) = [message["result"] for sender, message in client.transcript if sender == "agent"]
        assert [one["type"] for one in result["authMethods"]] == ["agent", "terminal"]
        assert len({one["methodId"] for one in result["authMethods"]}) == 2
        assert await client.request("auth/login", {"methodId": "api-key"}) == {}
        assert await client.request("auth/logout", {}) == {}
        assert (await fails(client, "auth/login", {"methodId": "nothing"})).code == -32602


async def test_a_turn(world: World, server: ModelServer) -> None:
    """ACP-SESSION-001, 002, 203, PROMPT-201, 203, 205, STATE-201, 202, 203, PATCH-201, 203, 204, 208, ENUM-201."""
    server.script(
        answer(think("hm"), say("I look. "), call("read_file", path="json/scanner.py", endLine=3)),
        answer(say("Done.")),
        answer(say("Again.")),
    )
    async with conversation(world) as (client, session):
        other = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        assert other["sessionId"] != session
        first = await prompt(client, session, "What is it?")
        assert (await idle(client))["stopReason"] == "end_turn"
        (user,) = updates(client, "user_message")
        assert (user["messageId"], user["content"]) == (first, [{"type": "text", "text": "What is it?"}])
        assert [update["state"] for update in updates(client, "state_update")] == ["running", "idle"]
        assert "I look." in said(client)
        assert said(client).endswith("Done.")
        calls = updates(client, "tool_call_update")
        assert calls[0]["title"]
        assert calls[-1]["status"] == "completed"
        second = await prompt(client, session, "And?")
        await idle(client, 2)
        assert second != first
        assert updates(client)[-1]["sessionUpdate"] == "state_update"


async def test_the_blocks_of_a_prompt(world: World, server: ModelServer) -> None:
    """ACP-PROMPTCAP-001, 003, PROMPT-003, META-001."""
    server.script(answer(say("Seen.")))
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png(4, 4)).decode()}
    link = {"type": "resource_link", "name": "a", "uri": (world.project / "json/scanner.py").as_uri()}
    resource = {"type": "resource", "resource": {"uri": "file:///x.txt", "text": "words"}}
    async with conversation(world) as (client, session):
        await prompt(client, session, "Look", picture, link, resource)
        assert (await idle(client))["stopReason"] == "end_turn"
        audio = {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}
        failure = await fails(client, "session/prompt", {"sessionId": session, "prompt": [audio]})
        assert failure.code == -32602


@pytest.mark.parametrize("option", ["accept", "reject"])
async def test_an_edit_is_asked_about_with_a_patch(world: World, server: ModelServer, option: str) -> None:
    """ACP-PERM-201, PATCH-209, CLIENTCAP-201, 202."""
    (world.project / "a b.txt").write_text("one\ntwo\n")
    server.script(
        answer(call("read_file", path="a b.txt")),
        answer(call("edit_replace_exact", path="a b.txt", old="two", new="2")),
        answer(say("ok")),
    )
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = answering(option)
        await prompt(client, session, "Go")
        await idle(client)
        asked = await client.wait(lambda message: message.get("method") == "session/request_permission")
        methods = {m["method"] for sender, m in client.transcript if sender == "agent" and "method" in m}
    assert methods == {"session/update", "session/request_permission"}
    subject = asked["params"]["subject"]
    assert subject["type"] == "tool_call"
    path = str(world.project / "a b.txt")
    (diff,) = [part for part in subject["toolCall"]["content"] if part["type"] == "diff"]
    assert diff["changes"] == [{"operation": "modify", "path": path, "fileType": "text"}]
    name = path.lstrip("/")
    assert diff["patch"]["format"] == "git_patch"
    assert diff["patch"]["text"].startswith(f"diff --git a/{name} b/{name}\n--- a/{name}\t\n+++ b/{name}\t\n@@ -1,2")
    assert "-two\n+2\n" in diff["patch"]["text"]
    states = [update["state"] for update in updates(client, "state_update")]
    assert states == ["running", "requires_action", "running", "idle"]
    assert (world.project / "a b.txt").read_text() == ("one\n2\n" if option == "accept" else "one\ntwo\n")


async def test_a_new_a_moved_and_a_deleted_file(world: World, server: ModelServer) -> None:
    for name in ("old.txt", "gone.txt"):
        (world.project / name).write_text("one\n")
    edits = [
        {"tool": "edit_create_file", "args": {"path": "new.txt", "content": "n\n"}},
        {"tool": "edit_move_file", "args": {"from": "old.txt", "to": "moved.txt"}},
        {"tool": "edit_delete_file", "args": {"path": "gone.txt"}},
    ]
    server.script(answer(call("edit_apply_batch", edits=edits)), answer(say("ok")))
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = answering("accept")
        await prompt(client, session, "Go")
        await idle(client)
        asked = await client.wait(lambda message: message.get("method") == "session/request_permission")
    diffs = [part for part in asked["params"]["subject"]["toolCall"]["content"] if part["type"] == "diff"]
    changes = {diff["changes"][0]["operation"]: diff["changes"][0] for diff in diffs}
    assert set(changes) == {"add", "move", "delete"}
    assert changes["move"]["oldPath"] == str(world.project / "old.txt")
    patches = "".join(diff["patch"]["text"] for diff in diffs)
    for words in ("new file mode 100644", "deleted file mode 100644", "rename from "):
        assert words in patches
    assert sorted(path.name for path in world.project.glob("*.txt")) == ["moved.txt", "new.txt"]


async def test_a_command_is_the_subject_of_its_question(world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="touch made", description="Makes it")), answer(say("ok")))
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = answering("run")
        await prompt(client, session, "Go")
        await idle(client)
        asked = await client.wait(lambda message: message.get("method") == "session/request_permission")
    subject = asked["params"]["subject"]
    assert (subject["type"], subject["command"], subject["cwd"]) == ("command", "touch made", str(world.project))
    assert "Makes it" in asked["params"]["description"]
    assert (world.project / "made").exists()


async def test_an_outcome_that_is_unknown_is_a_refusal(world: World, server: ModelServer) -> None:
    """ACP-ENUM-203."""
    server.script(answer(call("shell_run", command="touch made")), answer(say("ok")))

    async def odd(params: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": {"outcome": "_later"}}

    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = odd
        await prompt(client, session, "Go")
        assert (await idle(client))["stopReason"] == "end_turn"
    assert not (world.project / "made").exists()


@pytest.mark.parametrize("method", ["session/cancel", "session/close"])
async def test_what_is_stopped_ends_as_cancelled(world: World, server: ModelServer, method: str) -> None:
    """ACP-CANCEL-201, 202, 203, 205, 206, 207, 208, CLOSE-202."""
    server.script(answer(say("working", chunks=1), gate("never")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "Go")
        await client.wait_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        if method == "session/cancel":
            await client.notify(method, {"sessionId": session, "_meta": {}})
        else:
            assert await client.request(method, {"sessionId": session}) == {}
        assert (await idle(client))["stopReason"] == "cancelled"
        assert (await client.request("session/list", {}))["sessions"]
        assert updates(client, "state_update")[-1]["state"] == "idle"
        assert [update["state"] for update in updates(client, "state_update")] == ["running", "idle"]


async def test_a_prompt_during_a_turn_waits_for_it_or_is_cancelled_with_it(world: World, server: ModelServer) -> None:
    """ACP-INFO-CONCURRENT-201."""
    server.script(answer(say("one", chunks=1), gate("here")), answer(say("two", chunks=1), gate("never")))
    async with conversation(world) as (client, session):
        first = await prompt(client, session, "1")
        text = [{"type": "text", "text": "2"}]
        second = await client.start_request("session/prompt", {"sessionId": session, "prompt": text})
        await client.wait_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        server.open("here")
        assert (await client.answer(second))["messageId"] != first
        states = [update["state"] for update in updates(client, "state_update")]
        assert states[:2] == ["running", "idle"]
        third = await client.start_request("session/prompt", {"sessionId": session, "prompt": text})
        await client.wait_update(lambda update: update.get("content", {}) == {"type": "text", "text": "two"})
        await client.notify("session/cancel", {"sessionId": session})
        with pytest.raises(RpcFailure) as failure:
            await client.answer(third)
        assert failure.value.code == -32800
        assert (await idle(client, 2))["stopReason"] == "cancelled"
    assert len(server.requests) == 2


async def test_a_prompt_that_is_given_up_while_it_waits_is_never_sent(world: World, server: ModelServer) -> None:
    server.script(answer(say("one", chunks=1), gate("here")), answer(say("three")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "1")
        await client.wait_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        text = [{"type": "text", "text": "2"}]
        for _ in range(2):
            second = await client.start_request("session/prompt", {"sessionId": session, "prompt": text})
            await client.notify("$/cancel_request", {"requestId": second})
            with pytest.raises(RpcFailure) as failure:
                await client.answer(second)
            assert failure.value.code == -32800
        server.open("here")
        assert (await idle(client))["stopReason"] == "end_turn"
        await prompt(client, session, "3")
        assert (await idle(client, 2))["stopReason"] == "end_turn"
    assert len(server.requests) == 2
    assert '"2"' not in json.dumps(server.requests[1].body["messages"])


async def test_a_failure_is_an_error_of_the_prompt_or_of_the_turn(world: World, server: ModelServer) -> None:
    """Which one depends on whether the prompt is a part of the conversation already."""
    async with conversation(world) as (client, session):
        choice = {"sessionId": session, "configId": "model", "type": "id", "value": "openai/gpt-5"}
        await client.request("session/set_config_option", choice)
        text = [{"type": "text", "text": "Hello"}]
        assert await prompt(client, session, "Hello")
        ended = await idle(client)
        assert (ended["stopReason"], ended["error"]["code"]) == ("error", -32000)
        assert "OPENAI_API_KEY" in ended["error"]["message"]
        assert (await fails(client, "session/prompt", {"sessionId": "none", "prompt": text})).code == -32002


async def test_a_command_of_norths_own_is_a_turn_too(world: World, server: ModelServer) -> None:
    async with conversation(world) as (client, session):
        await prompt(client, session, "/help")
        assert (await idle(client))["stopReason"] == "end_turn"
        kinds = [update["sessionUpdate"] for update in updates(client)]
        begun = kinds.index("user_message")
        assert kinds[begun + 1] == "state_update"
        assert "agent_message_chunk" in kinds[begun:]


@pytest.mark.parametrize("replays", [True, False])
async def test_resuming(world: World, server: ModelServer, replays: bool) -> None:
    """ACP-RESUME-201 to 205, CONFIG-203, ADDDIRS-202."""
    server.script(answer(say("An answer.")))
    async with conversation(world) as (client, session):
        message = await prompt(client, session, "A question")
        await idle(client)
        assert await client.request("session/close", {"sessionId": session}) == {}
        client.updates.clear()
        params = {"sessionId": session, "cwd": str(world.project)}
        start = {"replayFrom": {"type": "start"}} if replays else {"replayFrom": None}
        opened = await client.request("session/resume", params | start)
        before = updates(client)
        await client.request("session/list", {})
        await asyncio.sleep(0)
        assert updates(client) == before
        assert [one["configId"] for one in opened["configOptions"]][:2] == ["mode", "model"]
        assert {"command"} == {one["type"] for one in opened["availableCommands"]}
        kinds = [update["sessionUpdate"] for update in before]
        if replays:
            assert [update["messageId"] for update in before if update["sessionUpdate"] == "user_message"] == [message]
            assert kinds.index("user_message") < kinds.index("user_message_chunk")
            assert kinds.index("agent_message") < kinds.index("agent_message_chunk")
            assert "An answer." in said(client)
        else:
            assert not [kind for kind in kinds if "message" in kind]
        odd = params | {"replayFrom": {"type": "middle"}}
        assert (await fails(client, "session/resume", odd)).code == -32602


async def test_lists_and_deletion(world: World, server: ModelServer) -> None:
    """ACP-LIST-201 to 204, DELETE-201 to 203, CLOSE-201, ADDDIRS-201."""
    server.script(answer(say("ok")))
    async with agent(world) as client:
        more = {"cwd": str(world.project), "additionalDirectories": [str(world.folder)]}
        session = (await client.request("session/new", more))["sessionId"]
        await prompt(client, session, "Hello")
        await idle(client)
        assert await client.request("session/close", {"sessionId": session}) == {}
        for params in ({}, {"cwd": str(world.project)}):
            (row,) = (await client.request("session/list", params))["sessions"]
            assert (row["sessionId"], row["cwd"]) == (session, str(world.project))
            assert row["additionalDirectories"] == [str(world.folder)]
        assert (await client.request("session/list", {"cwd": "/nowhere"}))["sessions"] == []
        for _ in range(2):
            assert await client.request("session/delete", {"sessionId": session}) == {}
        assert (await client.request("session/list", {}))["sessions"] == []


async def test_what_is_unstable_is_announced_and_works(world: World, server: ModelServer) -> None:
    """A copy, a title, the archive, the state of a conversation, who is signed in, and where requests go."""
    server.script(answer(say("An answer.")), answer(say("In the copy.")), answer(say("From there.")))
    async with agent(world) as client:
        (opened,) = [message["result"] for sender, message in client.transcript if sender == "agent"]
        announced = opened["capabilities"]
        assert {"fork", "archive", "status", "title"} <= announced["session"].keys()
        assert (announced["auth"], announced["providers"]) == ({"status": {}}, {})
        session = (await client.request("session/new", {"cwd": str(world.project)}))["sessionId"]
        await prompt(client, session, "A question")
        await idle(client)
        here = {"sessionId": session}
        copied = await client.request("session/fork", {**here, "cwd": str(world.project)})
        assert {one["configId"] for one in copied["configOptions"]} >= {"mode", "model"}
        await prompt(client, copied["sessionId"], "In the copy")
        await idle(client, 2)
        assert "A question" in json.dumps(server.requests[-1].body["messages"])
        assert await client.request("session/set_title", {**here, "title": "Mine"}) == {"title": "Mine"}
        assert await client.request("session/status", here) == {"status": "open"}
        assert await client.request("session/archive", here) == {}
        assert await client.request("session/status", here) == {"status": "saved"}
        rows = (await client.request("session/list", {"archived": "only"}))["sessions"]
        assert [(row["sessionId"], row["title"], row["archived"]) for row in rows] == [(session, "Mine", True)]
        assert await client.request("session/unarchive", here) == {}
        assert (await fails(client, "session/status", {"sessionId": "nobody"})).code == -32002
        assert (await client.request("auth/status", {}))["state"] == "authenticated"
        providers = (await client.request("providers/list", {}))["providers"]
        assert "anthropic" in [row["providerId"] for row in providers]
        route = {"providerId": "anthropic", "apiType": "anthropic", "baseUrl": server.url}
        assert await client.request("providers/set", route) == {}
        assert await client.request("providers/disable", {"providerId": "anthropic"}) == {}


async def test_agents_are_child_sessions_of_every_client(world: World, server: ModelServer) -> None:
    server.script(tasks(task("task", "Look", id="find")), submit("Here."), answer(say("It is there.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "Find it")
        await idle(client)
        told = updates(client, "subagent_update")
    assert (told[0]["sessionId"], told[0]["title"]) == (f"{session}/0-find", "task 0-find")
    states = [one["state"] for one in told if "state" in one]
    assert states == [{"state": "running"}, {"state": "idle", "stopReason": "end_turn"}]


async def test_modes_are_options(world: World, server: ModelServer) -> None:
    """ACP-CONFIG-201, 202, 204, 206."""
    async with conversation(world) as (client, session):
        (made,) = [m["result"] for s, m in client.transcript if s == "agent" and "sessionId" in m.get("result", {})]
        options = {one["configId"]: one for one in made["configOptions"]}
        assert options["_edits"]["type"] == "boolean"
        for one in made["configOptions"]:
            if one["type"] == "select":
                assert one["currentValue"] in [row["value"] for row in one["options"]]
        change = {"sessionId": session, "configId": "mode", "type": "id", "value": "ask"}
        changed = await client.request("session/set_config_option", change)
        assert {one["configId"] for one in changed["configOptions"]} == options.keys()
        assert changed["configOptions"][0]["currentValue"] == "ask"
        told = await client.wait_update(lambda update: update["sessionUpdate"] == "config_option_update")
        assert {one["configId"] for one in told["configOptions"]} == options.keys()
        switched = {"sessionId": session, "configId": "_edits", "type": "boolean", "value": True}
        assert await client.request("session/set_config_option", switched)
        assert (await fails(client, "session/set_config_option", change | {"type": "list"})).code == -32602
        assert not updates(client, "current_mode_update")


async def test_a_tool_server_of_the_client_is_used(world: World, server: ModelServer) -> None:
    """ACP-MCP-201."""
    passed = {"type": "stdio", "name": "test", "command": sys.executable, "args": ["-I", mcp_server.__file__]}
    server.script(answer(call("mcp_test_echo", text="hello there")), answer(say("ok")))
    async with agent(world) as client:
        client.handlers["session/request_permission"] = answering("run")
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": [passed]})
        await prompt(client, made["sessionId"], "Go")
        assert (await idle(client))["stopReason"] == "end_turn"
    assert "hello there" in json.dumps(server.requests[-1].body["messages"][-1])


@pytest.mark.parametrize("version", [1, 2])
async def test_the_todo_list_is_a_plan_with_an_id(world: World, server: ModelServer, version: int) -> None:
    """ACP-PATCH-205. In version 1, for a client that announced it."""
    ops = [{"op": "init", "list": [{"phase": "Read", "items": ["a"]}]}]
    server.script(answer(call("todo", ops=ops)), answer(call("todo", ops=[{"op": "done", "task": "a"}])))
    server.script(answer(say("ok")))
    async with raw_client([*SERVER, "acp"], world.environ, world.project, version=version) as client:
        hello: dict[str, Any] = {"protocolVersion": version, "info": INFO, "clientCapabilities": {"plan": {}}}
        await client.request("initialize", hello)
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        text = [{"type": "text", "text": "Go"}]
        await client.request("session/prompt", {"sessionId": made["sessionId"], "prompt": text})
        if version == 2:
            await idle(client)
        plans = [update["plan"] for update in updates(client, "plan_update")]
    assert [plan["planId"] for plan in plans] == ["todo", "todo"]
    assert [plan["entries"][0]["status"] for plan in plans] == ["in_progress", "completed"]
    assert not updates(client, "plan")


BAD: list[tuple[str, dict[str, Any], int]] = [
    ("session/prompt", {"prompt": "text"}, -32602),
    ("session/prompt", {"prompt": [1]}, -32602),
    ("session/prompt", {"sessionId": 1, "prompt": []}, -32602),
    ("session/resume", {"sessionId": "none"}, -32602),
    ("session/resume", {"cwd": "/", "sessionId": ["x"]}, -32602),
    ("session/resume", {"cwd": "/", "sessionId": "none"}, -32002),
    ("session/resume", {"cwd": "/", "sessionId": "none", "replayFrom": "start"}, -32602),
    ("session/new", {"cwd": "here"}, -32602),
    ("session/new", {}, -32602),
    ("session/list", {"cursor": "nothing"}, -32602),
    ("session/close", {"sessionId": None}, -32602),
    ("session/set_config_option", {"configId": "mode", "type": "id", "value": {}}, -32602),
    ("session/set_config_option", {"configId": "mode", "type": "id"}, -32602),
    ("session/set_config_option", {"configId": "_edits", "type": "boolean", "value": "yes"}, -32602),
    ("auth/login", {}, -32602),
    ("initialize", {"protocolVersion": 2}, -32600),
]


async def test_bad_params_are_refused_and_the_connection_lives(world: World, server: ModelServer) -> None:
    """ACP-JSONRPC-002, 005."""
    server.script(answer(say("ok")))
    async with conversation(world) as (client, session):
        for method, params, code in BAD:
            failure = await fails(client, method, {"sessionId": session, **params})
            assert (method, params, failure.code) == (method, params, code)
        await prompt(client, session, "Hello")
        assert (await idle(client))["stopReason"] == "end_turn"


async def test_methods_of_version_1_are_unknown(world: World, server: ModelServer) -> None:
    """ACP-JSONRPC-004, EXT-001."""
    async with conversation(world) as (client, session):
        for method in ("session/load", "session/set_mode", "authenticate", "terminal/create", "_own/method"):
            assert (await fails(client, method, {"sessionId": session})).code == -32601


async def test_batches(world: World, server: ModelServer) -> None:
    """ACP-BATCH-201 to 203, JSONRPC-003, 005, TRANSPORT-201, 203."""
    async with conversation(world) as (client, session):
        count = len(client.lines)
        note = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
        await client.send_raw(json.dumps([note, note]).encode() + b"\n")
        await client.send_raw(b"[]\n")
        empty = await client.wait(lambda message: message.get("id") is None and "error" in message)
        assert empty["error"]["code"] == -32600
        lines = [json.loads(line) for line in client.lines[count:]]
        answers = [one for one in lines if "id" in one and "method" not in one]
        assert answers == [empty]
        listing = {"jsonrpc": "2.0", "id": "in-a-batch", "method": "session/list", "params": {}}
        await client.send_raw(json.dumps([1, listing]).encode() + b"\n")
        message = await client.wait(lambda message: message.get("id") == "in-a-batch")
        assert "result" in message
        assert {reply["id"] for reply in json.loads(client.lines[-1])} == {None, "in-a-batch"}
        assert len([1 for line in client.lines if b"-32600" in line]) == 2
