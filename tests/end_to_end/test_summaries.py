"""Summaries by a server of the user's, and what happens after one while tasks are open."""

import json

import pytest

from tests.end_to_end.test_faults import configure, opened, prompt, texts
from tests.end_to_end.test_long_conversations import ASKED, LONG, SAID, compactions, talked
from tests.end_to_end.test_room import model, serve
from tests.end_to_end.test_todo import INIT, todo
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, usage
from tests.support.web_site import Page, Site

pytestmark = pytest.mark.usefixtures("without_proxies")


@pytest.mark.parametrize(
    ("said", "kept"), [("They rename it.", "They rename it."), (SAID, "## Goal\n\nRename it")], ids=["words", "json"]
)
async def test_a_server_of_the_users_writes_the_summary(
    world: World, server: ModelServer, site: Site, said: str, kept: str
) -> None:
    (world.project / ".env").write_text("SERVICE_TOKEN=tok-4711-very-secret\n")
    configure(world, **{"compaction.remoteEndpoint": f"{site.url}/summary", "compaction.model": "opus-4-5"})
    site.pages["/summary"] = Page(json.dumps({"summary": said}), "application/json")
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await talked(client, server, session, f"Use tok-4711-very-secret. {LONG}", "Second", "Third")
        assert await prompt(client, session, '/compact keep the "exact" names') == "end_turn"
    (entry,) = compactions(world)
    assert entry["summary"].startswith(kept)
    assert entry["model"] == "compaction.remoteEndpoint/127.0.0.1"
    assert ASKED not in json.dumps([one.body for one in server.requests])
    (asked,) = site.asked
    body = json.loads(asked.body)
    assert (asked.method, set(body)) == ("POST", {"systemPrompt", "prompt"})
    assert ASKED in body["systemPrompt"]
    assert 'keep the "exact" names' in body["prompt"]
    assert "long long" in body["prompt"]
    assert "tok-4711-very-secret" not in asked.body.decode()


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (Page("{}", "application/json"), "no `summary`"),
        (Page('{"error": {"message": "it is closed"}}', "application/json", status=403), "it is closed"),
    ],
)
async def test_without_its_summary_there_is_none(
    world: World, server: ModelServer, site: Site, page: Page, why: str
) -> None:
    configure(world, **{"compaction.remoteEndpoint": f"{site.url}/summary"})
    site.pages["/summary"] = page
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await talked(client, server, session, LONG, "Second", "Third")
        assert await prompt(client, session, "/compact") == "end_turn"
        assert why in texts(client)
    assert compactions(world) == []
    assert len(server.requests) == 3


@pytest.mark.parametrize("address", ["http://elsewhere.example/", "ftp://127.0.0.1/", "nothing"])
async def test_a_conversation_goes_to_no_address_that_others_can_read(
    world: World, server: ModelServer, address: str
) -> None:
    configure(world, **{"compaction.remoteEndpoint": address})
    async with inside(world.environ) as client:
        await opened(client, world)
        server.script(answer(Say("Yes.")))
        session = await opened(client, world)
        await prompt(client, session, "Go")
        assert "must be an https address" in texts(client)


async def summarized_with_open_tasks(world: World, server: ModelServer, session_settings: dict[str, object]) -> str:
    """Talk until an answer with open tasks fills the window; returns what the last request has."""
    serve(world, server.url, model("m", 60_000))
    configure(world, **{"todo.reminders": False, **session_settings})
    async with inside(world.environ, "there/m") as client:
        session = await opened(client, world)
        server.script(todo(INIT), answer(Say("So far."), usage(input=30_000)))
        await prompt(client, session, "First " + "word " * 20_000)
        server.script(answer(Say("One."), usage(input=50_000)), answer(Say(SAID)), answer(Say("All of it.")))
        await prompt(client, session, "Second")
        assert len(compactions(world)) == 1
    return json.dumps(server.requests[-1].body)


async def test_after_a_summary_the_model_goes_on_with_open_tasks(world: World, server: ModelServer) -> None:
    last = await summarized_with_open_tasks(world, server, {})
    assert "the todo list has open tasks. Continue" in last
    assert len(server.requests) == 5


async def test_it_does_not_where_the_user_does_not_want_it(world: World, server: ModelServer) -> None:
    last = await summarized_with_open_tasks(world, server, {"compaction.autoContinue": False})
    assert ASKED in last
    assert len(server.requests) == 4
