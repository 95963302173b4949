"""`_north/paths/complete`, and folders as what is attached to a prompt."""

import threading
from pathlib import Path

import pytest

from north_lsp.agent.session.completion import mentioning
from tests.acp.test_conformance import agent, fails, new_session, prompt
from tests.acp.test_language import LanguageServers, at, opened
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World, make_world
from tests.support.client import RawAcpClient
from tests.support.inside import inside
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


async def test_names_of_rules_skills_and_conversations_are_completed(world: World, server: ModelServer) -> None:
    rules = {
        "web/style.md": "---\ndescription: How pages look\n---\nBe brief.",
        "web/off.md": "---\nenabled: false\n---\nx",
    }
    for name, text in rules.items():
        path = world.project / ".north" / "rules" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    skill = world.project / ".claude" / "skills" / "ship" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: Releases\n---\nTag it.")
    server.script(answer(Say("Yes.")), answer(Say("I follow it.")))
    async with conversation(world) as (client, former):
        await prompt(client, former, "Where is the beginning?")
        session = await new_session(client, world)

        async def names(query: str) -> list[dict[str, str]]:
            asked = {"sessionId": session, "query": query}
            return list((await client.request("_north/paths/complete", asked))["names"])

        style = {"name": "rule:web/style", "kind": "rule", "detail": "How pages look"}
        assert await names("rule:sty") == await names("rule:PAGES") == await names("ru") == [style]
        assert await names("r") == await names("rule:off") == await names("other:") == []
        assert {"name": "skill:ship", "kind": "skill", "detail": "Releases"} in await names("skill:sh")
        (found,) = await names("conversation:beginning")
        assert (found["name"], found["kind"]) == (f"conversation:{former}", "conversation")
        await prompt(client, session, f"Follow @rule:web/style, as in @{found['name']}")
    sent = str(server.requests[1].body["messages"])
    assert "Be brief." in sent
    assert "Where is the beginning?" in sent


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


async def test_what_else_can_be_mentioned_is_offered_as_far_as_the_editor_can_tell(world: World) -> None:
    async def find(client: RawAcpClient, session: str, query: str) -> list[str]:
        asked = {"sessionId": session, "query": query, "limit": 20}
        return [one["name"] for one in (await client.request("_north/paths/complete", asked))["names"]]

    async with conversation(world) as (client, session):
        assert await find(client, session, "") == ["diff", "web:"]
        assert await find(client, session, "d") == ["diff"]
        assert await find(client, session, "symbol:on") == []
    servers = LanguageServers(
        workspaceSymbols=[
            {
                "symbols": [
                    {"name": name, "kind": "method", "container": "Lamp", **place(world)}
                    for name in ("phone", "on()", "on(int)", "not a name")
                ]
            }
        ]
    )
    async with opened(world, servers) as (client, session):
        assert await find(client, session, "") == ["diff", "problems", "symbol:", "web:"]
        assert await find(client, session, "symbol:on") == ["symbol:on", "symbol:phone"]


def place(world: World) -> dict[str, object]:
    return {"uri": (world.project / "lamp.py").as_uri(), "range": at(0, 0, 2)}


async def test_names_that_cannot_be_read_in_time_are_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_asked, may_end = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        is_asked.set()
        may_end.wait()
        return []

    monkeypatch.setattr(mentioning, "list_conversations", hang)
    monkeypatch.setattr(mentioning, "_LONGEST_SECONDS", 0.1)
    async with inside(world.environ) as client:
        session = await new_session(client, world)
        asked = {"sessionId": session, "query": "conversation:a"}
        try:
            for _ in range(2):
                found = await client.request("_north/paths/complete", asked)
                assert found["isIncomplete"]
                assert found["names"] == []
            assert is_asked.is_set()
        finally:
            may_end.set()
