"""A conversation that is not saved leaves nothing, and does everything that needs no file."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure, opened, prompt, texts
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call

SECRET_WORDS = "quokkas in the attic"


def left(world: World) -> list[str]:
    """The files of North's that have a word of the conversation, and all that is about conversations."""
    folders = [world.data, world.folder / "state"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    said = [str(path) for path in files if SECRET_WORDS.encode() in path.read_bytes()]
    return [*said, *(str(path) for path in world.data.glob("conversations/*"))]


async def talked(client: RawAcpClient, world: World, server: ModelServer) -> str:
    server.script(
        answer(Say("One."), call("shell_run", command="seq 30000")),
        answer(Say(f"There are {SECRET_WORDS}.")),
        answer(Say("Three.")),
    )
    client.handlers["session/request_permission"] = _run
    session = await opened(client, world)
    assert await prompt(client, session, f"Look for {SECRET_WORDS}") == "end_turn"
    assert await prompt(client, session, "And now?") == "end_turn"
    return session


async def _run(params: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": "run"}}


@pytest.mark.parametrize("how", ["setting", "variable"])
async def test_it_leaves_nothing(world: World, server: ModelServer, how: str) -> None:
    environ = world.environ
    if how == "setting":
        configure(world, **{"sessions.save": False})
    else:
        environ |= {"NORTH_NO_SESSION": "1"}
    async with inside(environ, north={"events": True}) as client:
        session = await talked(client, world, server)
        assert "This conversation is not saved" in texts(client)
        assert "cannot be saved" not in texts(client)
        asked = json.dumps(server.requests[-1].body)
        assert SECRET_WORDS in asked
        listed = await client.request("session/list", {"cwd": str(world.project)})
        assert listed["sessions"] == []
        assert (await client.request("_north/prompts/history", {}))["prompts"] == []
        assert not list(world.data.glob("conversations/*"))
        await client.request("session/close", {"sessionId": session})
        assert not list((world.folder / "state" / "tmp").iterdir())
    assert left(world) == []


async def test_it_goes_back_is_exported_and_summed_up_but_not_copied(world: World, server: ModelServer) -> None:
    configure(world, **{"sessions.save": False})
    async with inside(world.environ, north={"events": True}) as client:
        session = await talked(client, world, server)
        where = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        assert (await client.request("_north/sessions/stats", {"sessionId": session}))["prompts"] == 2
        text = (await client.request("_north/sessions/export", {"sessionId": session, "format": "md"}))["text"]
        assert SECRET_WORDS in text
        users = await client.request("_north/sessions/tree", {"sessionId": session, "filter": "user-only"})
        last = users["nodes"][-1]["id"]
        copies = {"session/fork": where, "_north/sessions/branch": {"sessionId": session, "entryId": last}}
        for method, params in copies.items():
            with pytest.raises(RpcFailure, match="this conversation is not saved, so it cannot be copied"):
                await client.request(method, params)
        gone = await client.request("_north/sessions/rewind", {"sessionId": session, "entryId": last})
        assert gone["moved"]
        assert gone["prompt"][0]["text"] == "And now?"
        server.script(answer(Say("Another way.")))
        assert await prompt(client, session, "Or so?") == "end_turn"
        assert "And now?" not in json.dumps(server.requests[-1].body)
        await client.request("_north/sessions/rename", {"sessionId": session, "title": "Mine"})
    assert left(world) == []


async def test_a_project_may_ask_for_it_and_stored_ones_go_on(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Stored.")), answer(Say("Still stored.")))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "Hello")
    (world.project / ".north").mkdir()
    (world.project / ".north" / "settings.json").write_text('{"sessions.save": false}')
    async with inside(world.environ) as client:
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        await prompt(client, session, "More")
        new = await opened(client, world)
        assert new != session
    assert [path.stem for path in world.data.glob("conversations/*.jsonl")] == [session]
    assert any("Still stored." in line for line in world.log_entries())


async def test_the_command_line_says_so_too(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hello.")))
    async with raw_client([*SERVER, "acp", "--no-session"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        await prompt(client, await opened(client, world), "Hi")
        assert not list(world.data.glob("conversations/*"))
