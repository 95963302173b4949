"""`_north/paths/complete`, and folders as what is attached to a prompt."""

from pathlib import Path

import pytest

from tests.acp.test_conformance import agent, fails, new_session, prompt
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World, make_world
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer


@pytest.fixture
def offline(tmp_path: Path) -> World:
    return make_world(tmp_path / "offline")


async def test_paths_are_completed(offline: World) -> None:
    (offline.project / ".northignore").write_text("decoder.py\n")
    async with agent(offline) as client:
        session = await new_session(client, offline)
        found = await client.request("_north/paths/complete", {"sessionId": session, "query": "coder", "limit": 2})
        path = offline.project / "json/encoder.py"
        assert found["paths"][0] == {"path": "json/encoder.py", "uri": path.as_uri(), "kind": "file"}
        assert "decoder" not in str(found)
        assert found["isIncomplete"] is False
        folders = await client.request("_north/paths/complete", {"sessionId": session, "query": "json/"})
        assert folders["paths"][0]["kind"] == "folder"
        assert len(folders["paths"]) <= 10


async def test_what_is_wrong_in_a_request_is_said(offline: World) -> None:
    async with agent(offline) as client:
        session = await new_session(client, offline)
        for wrong in ({"query": 1}, {}, {"query": "a", "limit": 0}, {"query": "a", "limit": True}):
            failure = await fails(client, "_north/paths/complete", {"sessionId": session, **wrong})
            assert failure.code == -32602
        assert (await fails(client, "_north/paths/complete", {"sessionId": "x", "query": ""})).code == -32002


async def test_a_folder_is_attached_as_a_list_of_what_tools_may_see(world: World, server: ModelServer) -> None:
    (world.project / ".northignore").write_text("json/decoder.py\n")
    server.script(answer(Say("A package.")))
    async with conversation(world) as (client, session):
        link = {"type": "resource_link", "name": "json", "uri": (world.project / "json").as_uri()}
        await prompt(client, session, "What is this?", link)
    text = server.requests[0].body["messages"][0]["content"][0]["text"]
    assert '<folder path="json/">' in text
    assert "json/encoder.py" in text
    assert "decoder" not in text
