"""The official TypeScript SDK as the client, in both versions of the protocol: it reads and checks what North sends by
its own types."""

import asyncio
import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import SERVER, World
from tests.support.acp_schema import sdk_folder
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.png import png
from tests.support.script import answer, call, gate, say

DRIVER = Path(__file__).parent.parent / "support" / "sdk_client.mjs"
ENTRIES = {1: "dist/v1/unstable/acp.js", 2: "dist/v2/unstable/acp.js"}


async def drive(world: World, version: int, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Run a client that does these steps after `initialize` and `session/new`."""
    node = shutil.which("node")
    assert node is not None, "node is needed: install Node"
    info = {"name": "test", "version": "1"}
    if version == 1:
        files = {"readTextFile": True, "writeTextFile": True}
        hello = {"protocolVersion": 1, "clientInfo": info}
        hello |= {"clientCapabilities": {"fs": files, "elicitation": {"form": {}}}}
    else:
        hello = {"protocolVersion": 2, "info": info, "capabilities": {"elicitation": {"form": {}}}}
    servers = ["$tools"] if more.get("tools") else []
    begin = [
        {"request": "initialize", "params": hello},
        {"request": "session/new", "params": {"cwd": str(world.project), "mcpServers": servers}},
    ]
    given: dict[str, Any] = {"answers": [], "form": {}, **more}
    given |= {"entry": str(sdk_folder() / ENTRIES[version]), "command": [*SERVER, "acp"], "cwd": str(world.project)}
    process = await asyncio.create_subprocess_exec(
        node, str(DRIVER), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env=dict(world.environ)
    )
    try:
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate(json.dumps({**given, "steps": [*begin, *steps]}).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0
    return dict(json.loads(output))


def prompt(text: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "text", "text": text}, *blocks]
    return {"request": "session/prompt", "params": {"sessionId": "$session", "prompt": content}}


def texts(found: dict[str, Any]) -> str:
    chunks = [update for update in found["updates"] if update["sessionUpdate"] == "agent_message_chunk"]
    return "".join(update["content"]["text"] for update in chunks)


def file(world: World) -> Path:
    path = world.project / "a.txt"
    path.write_text("one\ntwo\n")
    return path


ENDED = {1: [], 2: [{"wait": '"state":"idle"'}]}
"""In version 2, a prompt is answered before its turn has ended."""


@pytest.mark.parametrize("version", [1, 2])
async def test_a_question_with_a_picture(world: World, server: ModelServer, version: int) -> None:
    server.script(answer(call("list_root"), say("I look. ")), answer(say("A white picture.")))
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png(4, 4)).decode()}
    found = await drive(world, version, prompt("What is it?", picture), *ENDED[version])
    assert texts(found).endswith("A white picture.")
    assert found["results"][2]["stopReason" if version == 1 else "messageId"]
    assert found["asked"] == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("option", ["allow_once", "reject_once"])
async def test_an_edit(world: World, server: ModelServer, version: int, option: str) -> None:
    path = file(world)
    server.script(
        answer(call("read_file", path="a.txt")),
        answer(call("edit_replace_exact", path="a.txt", old="two", new="2")),
        answer(say("ok")),
    )
    found = await drive(world, version, prompt("Go"), *ENDED[version], answers=[option])
    (asked,) = found["asked"]
    assert {one["optionId"] for one in asked["options"]} == {"allow_once", "allow_always", "reject_once"}
    assert path.read_text() == ("one\n2\n" if option == "allow_once" else "one\ntwo\n")


@pytest.mark.parametrize("version", [1, 2])
async def test_a_command(world: World, server: ModelServer, version: int) -> None:
    server.script(answer(call("shell_run", command="touch made.txt")), answer(say("ok")))
    await drive(world, version, prompt("Go"), *ENDED[version], answers=["allow_once"])
    assert (world.project / "made.txt").exists()


@pytest.mark.parametrize("version", [1, 2])
async def test_cancelling(world: World, server: ModelServer, version: int) -> None:
    server.script(answer(say("working", chunks=1), gate("never")))
    go = prompt("Go")
    found = await drive(
        world,
        version,
        {"begin": go["request"], "params": go["params"]},
        {"wait": "working"},
        {"notify": "session/cancel", "params": {"sessionId": "$session"}},
        {"end": True},
        *ENDED[version],
    )
    last = found["results"][-1] if version == 1 else found["updates"][-1]
    assert last["stopReason"] == "cancelled"


async def test_a_conversation_is_loaded_forked_named_and_archived(world: World, server: ModelServer) -> None:
    server.script(answer(say("An answer.")), answer(say("Another one.")))
    where = {"sessionId": "$session", "cwd": str(world.project), "mcpServers": []}
    here = {"sessionId": "$session"}
    found = await drive(
        world,
        1,
        prompt("A question"),
        {"request": "session/close", "params": here},
        {"request": "session/load", "params": where},
        {"request": "session/set_title", "params": {**here, "title": "Mine"}},
        {"request": "session/fork", "params": where},
        prompt("In the copy"),
        {"request": "session/status", "params": here},
        {"request": "session/archive", "params": here},
        {"request": "session/list", "params": {"archived": "include"}},
        {"request": "auth/status"},
        {"request": "providers/list"},
    )
    assert not [result for result in found["results"] if "error" in result]
    assert texts(found).count("An answer.") == 2
    *_, status, _, listed, signed_in, providers = found["results"]
    assert status == {"status": "open"}
    assert sorted(row["archived"] for row in listed["sessions"]) == [False, True]
    assert signed_in["state"] == "authenticated"
    assert "anthropic" in [row["providerId"] for row in providers["providers"]]


async def test_a_conversation_is_forked_named_and_archived_in_version_2(world: World, server: ModelServer) -> None:
    server.script(answer(say("An answer.")), answer(say("Another one.")))
    here = {"sessionId": "$session"}
    found = await drive(
        world,
        2,
        prompt("A question"),
        *ENDED[2],
        {"request": "session/set_title", "params": {**here, "title": "Mine"}},
        {"request": "session/archive", "params": here},
        {"request": "session/fork", "params": {**here, "cwd": str(world.project)}},
        {"request": "session/status", "params": here},
        {"request": "session/list", "params": {"archived": "include"}},
        {"request": "auth/status"},
        {"request": "providers/list"},
    )
    assert not [result for result in found["results"] if "error" in result]
    *_, status, listed, signed_in, providers = found["results"]
    assert status == {"status": "open"}
    assert sorted(row["archived"] for row in listed["sessions"]) == [False, True]
    assert signed_in["state"] == "authenticated"
    assert "anthropic" in [row["providerId"] for row in providers["providers"]]


async def test_a_conversation_is_resumed_from_its_start_in_version_2(world: World, server: ModelServer) -> None:
    server.script(answer(say("An answer.")))
    here = {"sessionId": "$session"}
    again = {**here, "cwd": str(world.project), "replayFrom": {"type": "start"}}
    found = await drive(
        world,
        2,
        prompt("A question"),
        *ENDED[2],
        {"request": "session/close", "params": here},
        {"request": "session/resume", "params": again},
        {"request": "session/list"},
        {"request": "session/delete", "params": here},
    )
    assert not [result for result in found["results"] if "error" in result]
    assert texts(found).count("An answer.") == 2


@pytest.mark.parametrize("version", [1, 2])
async def test_modes_and_models(world: World, server: ModelServer, version: int) -> None:
    kind = {"type": "id"} if version == 2 else {}
    change = {"sessionId": "$session", **kind}
    found = await drive(
        world,
        version,
        {"request": "session/set_config_option", "params": {**change, "configId": "mode", "value": "ask"}},
        {"request": "session/set_config_option", "params": {**change, "configId": "model", "value": "offline"}},
        {"request": "session/set_mode", "params": {"sessionId": "$session", "modeId": "agent"}},
    )
    *_, mode, model, other = found["results"]
    name = "id" if version == 1 else "configId"
    assert next(one["currentValue"] for one in mode["configOptions"] if one[name] == "mode") == "ask"
    chosen = next(one["currentValue"] for one in model["configOptions"] if one[name] == "model")
    assert "offline" in chosen
    assert ("error" in other) == (version == 2)


@pytest.mark.parametrize("version", [1, 2])
async def test_a_form(world: World, server: ModelServer, version: int) -> None:
    trash = world.data / "conversations" / "trash" / "a1b2c3-20990101T000000Z"
    trash.mkdir(parents=True)
    (trash / "a1b2c3.jsonl").write_text("x" * 1000)
    found = await drive(world, version, prompt("/storage clean"), *ENDED[version], form={"answer": "yes"})
    (form,) = found["forms"]
    assert form["requestedSchema"]["required"] == ["answer"]
    assert not trash.exists()


@pytest.mark.parametrize("version", [1, 2])
async def test_a_tool_that_the_client_has_in_itself(world: World, server: ModelServer, version: int) -> None:
    server.script(
        answer(call("mcp_tools_echo", text="hello")),
        answer(say("Done.")),
        answer(call("mcp_tools_echo", text="wait")),
    )
    stop = {"notify": "session/cancel", "params": {"sessionId": "$session"}}
    waiting = prompt("Wait")
    found = await drive(
        world,
        version,
        prompt("Say hello"),
        *ENDED[version],
        {"begin": waiting["request"], "params": waiting["params"]},
        {"end": True} if version == 2 else {},
        {"wait": "1 wait"},
        stop,
        {"end": True} if version == 1 else {"wait": '"cancelled"'},
        tools=True,
        form={"answer": "run"},
    )
    assert not [result for result in found["results"] if "error" in result]
    assert found["served"] == ["server/discover", "tools/list", "tools/call", "tools/call", "aborted"]
    assert "echo: hello" in json.dumps(server.requests[1].body["messages"])
