"""What is kept, in a running server: damaged logs, old ones, what is cleared away, the log."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_sessions import another, there
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.client import RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer


async def damaged(world: World, server: ModelServer) -> str:
    """The id of a conversation of which most lines cannot be read."""
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
    (log,) = world.data.glob(f"conversations/{session}.jsonl")
    log.write_bytes(log.read_bytes() + b"{ torn\n" * 40)
    return session


async def test_a_damaged_conversation_offers_a_copy_of_what_can_be_read(world: World, server: ModelServer) -> None:
    session = await damaged(world, server)
    (log,) = world.data.glob(f"conversations/{session}.jsonl")
    before = log.read_bytes()
    async with another(world) as client:
        await client.request("session/load", there(session, world.project))
        await client.wait_update(lambda update: "`/salvage` copies what can be read" in str(update))
        refused = await prompt(client, session, "go on")
        assert "40 of its" in refused
        assert "`/salvage` copies" in refused
        assert "cannot be continued" in await prompt(client, session, "/undo")
        assert await prompt(client, session, "/salvage") == "end_turn"
        assert "2 messages were copied into a new conversation" in texts(client)
        listed = await client.request("session/list", {"cwd": str(world.project)})
        ids = [row["sessionId"] for row in listed["sessions"]]
        (copy,) = [id for id in ids if id != session]
        server.script(answer(Say("Two.")))
        await client.request("session/load", there(copy, world.project))
        assert await prompt(client, copy, "/salvage") == "end_turn"
        assert "there is nothing to salvage" in texts(client)
        assert await prompt(client, copy, "go on") == "end_turn"
        assert texts(client).endswith("Two.")
    assert log.read_bytes() == before


async def test_a_client_can_have_it_copied(world: World, server: ModelServer) -> None:
    session = await damaged(world, server)
    async with another(world) as client:
        params: dict[str, Any] = {"sessionId": session, "cwd": str(world.project)}
        got = await client.request("_north/sessions/salvage", params)
        assert (got["messages"], got["leftOut"]) == (2, 40)
        loaded = await client.request("session/load", there(got["sessionId"], world.project))
        assert "One." in texts(client)
        assert loaded["modes"]
        with pytest.raises(RpcFailure, match="there is no session"):
            await client.request("_north/sessions/salvage", params | {"sessionId": "ffffff"})
        await client.request("session/prompt", {"sessionId": got["sessionId"], "prompt": text_blocks("/stats")})
    rows = [json.loads(line) for line in world.log_entries() if line.startswith("{") and line != "{ torn"]
    assert [row["data"]["leftOut"] for row in rows if row.get("customType") == "import"] == [40]
