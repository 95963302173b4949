"""Conversations are found again: listed, searched, picked out by a part of the id, named, archived; prompts, too."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from north_lsp.server import after_start
from north_lsp.storage.locations import Locations
from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_sessions import another, there
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer
from tests.support.selecting import selected


async def ids(client: RawAcpClient, method: str = "_north/sessions/list", **params: object) -> list[str]:
    return [row["sessionId"] for row in (await client.request(method, params))["sessions"]]


async def search(client: RawAcpClient, query: str, **params: object) -> list[str]:
    return await ids(client, "_north/sessions/search", query=query, **params)


async def said(world: World, server: ModelServer, *exchanges: tuple[str, str]) -> str:
    """A conversation of one process, with these prompts and answers."""
    server.script(*(answer(Say(text)) for _, text in exchanges))
    async with conversation(world) as (client, session):
        for text, _ in exchanges:
            await prompt(client, session, text)
    return session


async def test_a_word_of_an_old_answer_finds_its_conversation(world: World, server: ModelServer) -> None:
    first = await said(world, server, ("Explain the cache", "It holds quokkas."), ("And then?", "Wombats."))
    second = await said(world, server, ("Rename it", "Done."))
    async with another(world) as client:
        here = str(world.project)
        assert await ids(client, cwd=here) == [second, first]
        assert await ids(client, limit=1) == [second]
        assert await ids(client, limit=1, start=1) == [first]
        assert (await client.request("_north/sessions/list", {"limit": 1}))["nextStart"] == 1
        assert await search(client, "quokka then") == [first]
        assert await search(client, "rename", cwd=here) == [second]
        assert await search(client, "quokka", cwd=str(world.folder)) == []
        assert await search(client, "zebra") == []
        (row,) = (await client.request("_north/sessions/search", {"query": "wombat"}))["sessions"]
        assert row["match"]["place"] == "text"
        assert row["match"]["snippet"] == "Wombats."
        entries = [json.loads(line) for line in world.log_entries()]
        (entry,) = [one for one in entries if one.get("id") == row["match"]["entryId"]]
        assert entry["message"]["role"] == "assistant"
        assert (row["name"], row["firstPrompt"], row["lastPrompt"]) == ("Explain the cache",) * 2 + ("And then?",)
        assert (row["cwd"], row["messageCount"], row["archived"]) == (here, 4, False)
        assert row["model"].startswith("anthropic/")
        assert row["costUsd"] > 0
        await client.request("session/load", there(first, world.project))
        assert "Wombats." in texts(client)


async def test_words_are_read_without_a_search(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(after_start, "_PORTION_SECONDS", 0.0)
    for number in range(5):
        put(world, f"aa{number}", world.project)
    locations = Locations.from_environment(world.environ)
    await after_start.fill_search(locations, after=0.0)
    with sqlite3.connect(locations.index) as index:
        rows = index.execute("SELECT count(*) FROM conversations WHERE words_size = size").fetchone()
    assert rows == (5,)


async def test_what_is_said_in_an_open_conversation_is_found_at_once(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("A platypus.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        assert await search(client, "platypus") == []
        await prompt(client, session, "second")
        assert await search(client, "platypus") == [session]


async def test_archived_conversations_are_hidden_until_somebody_wants_them(world: World, server: ModelServer) -> None:
    session = await said(world, server, ("first", "A quokka."))
    async with another(world) as client:  # one that is not open
        assert await client.request("_north/sessions/archive", {"sessionId": session}) == {"archived": True}
        assert await ids(client) == await search(client, "quokka") == []
        assert (await client.request("session/list"))["sessions"] == []
        assert await ids(client, archived="only") == await search(client, "quokka", archived="shown") == [session]
        await client.request("session/load", there(session, world.project))  # and one that is
        await client.request("_north/sessions/archive", {"sessionId": session, "archived": False})
        assert await ids(client) == [session]
        assert (await client.request("_north/sessions/rename", {"sessionId": session, "title": "Mine"})) == {
            "title": "Mine"
        }
        await client.request("session/close", {"sessionId": session})
        key = "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz"
        await client.request("_north/sessions/rename", {"sessionId": session, "title": f"Yours {key}"})
        assert [row["title"] for row in (await client.request("session/list"))["sessions"]] == ["Yours [masked]"]
        for params in ({"sessionId": session, "archived": 1}, {"sessionId": "f0f0f0"}):
            with pytest.raises(RpcFailure) as refused:
                await client.request("_north/sessions/archive", params)
            assert refused.value.code in (-32602, -32002)


async def test_what_is_open_elsewhere_is_not_changed(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        async with another(world) as second:
            for method, more in (("archive", {}), ("rename", {"title": "Mine"})):
                with pytest.raises(RpcFailure, match="process") as refused:
                    await second.request(f"_north/sessions/{method}", {"sessionId": session, **more})
                assert refused.value.code == -32600


def put(world: World, id: str, cwd: Path) -> None:
    header = {"type": "conversation_started", "version": 4, "id": id, "repoRoot": str(cwd), "cwd": str(cwd)}
    message = {"role": "user", "content": [{"type": "text", "text": f"about {id}"}]}
    lines = (header, {"type": "message", "id": "1", "parentId": None, "message": message})
    folder = world.data / "conversations"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{id}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


async def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one(world: World) -> None:
    other = world.folder / "other"
    other.mkdir()
    for id, cwd in (("aa11", world.project), ("aa22", world.project), ("bb11", world.project), ("bb22", other)):
        put(world, id, cwd)
    async with another(world) as client:

        async def find(target: str) -> dict[str, Any]:
            found: dict[str, Any] = await client.request(
                "_north/sessions/find", {"target": target, "cwd": str(world.project)}
            )
            return found

        assert (await find("aa1"))["sessionId"] == "aa11"
        assert (await find("bb"))["sessionId"] == "bb11"  # this project's before others'
        found = await find("bb2")
        assert (found["sessionId"], found["cwd"], found["isHere"]) == ("bb22", str(other), False)
        log = world.data / "conversations" / "aa22.jsonl"
        assert (await find(str(log)))["sessionId"] == "aa22"
        with pytest.raises(RpcFailure, match="several conversations start with 'aa'") as refused:
            await find("aa")
        assert refused.value.data is not None
        assert [row["sessionId"] for row in refused.value.data["candidates"]] == ["aa22", "aa11"]
        for target in ("zz", "", "a a", "../aa11", str(world.folder / "aa11.jsonl")):
            with pytest.raises(RpcFailure) as refused:
                await find(target)
            assert refused.value.code == -32002


async def test_a_window_goes_on_with_what_it_had_last(world: World, server: ModelServer) -> None:
    where = {"cwd": str(world.project), "mcpServers": []}

    async def last(client: RawAcpClient, **params: object) -> object:
        found = (await client.request("_north/sessions/last", {"cwd": str(world.project), **params}))["session"]
        return found and found["sessionId"]

    async with another(world) as client:
        assert await last(client, windowId="one") is None
        sessions = []
        for window in ("one", "two"):
            server.script(answer(Say("Hello.")))
            new = await client.request("session/new", {**where, "_meta": {"north": {"windowId": window}}})
            sessions.append(new["sessionId"])
            await prompt(client, sessions[-1], f"in {window}")
    async with another(world) as client:
        assert [await last(client, windowId=window) for window in ("one", "two", "three")] == [*sessions, sessions[1]]
        assert await last(client) == sessions[1]
        await client.request("session/delete", {"sessionId": sessions[0]})
        assert await last(client, windowId="one") == sessions[1]


async def test_a_turn_is_in_the_index_even_if_the_connection_ends_right_after_it(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("It holds quokkas.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "Explain the cache")
        await client.close_stdin()
        await client.wait_exit()
    with closing(sqlite3.connect(world.data / "search.db")) as index:
        assert index.execute("SELECT id, first_prompt FROM conversations").fetchall() == [
            (session, "Explain the cache")
        ]


async def history(client: RawAcpClient, **params: object) -> list[str]:
    return [row["text"] for row in (await client.request("_north/prompts/history", params))["prompts"]]


async def test_prompts_that_were_sent_are_kept_but_for_keys(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    async with conversation(world) as (client, session):
        for text in ("first prompt", "first prompt", "/costs", "/login sk-very-secret-key"):
            await prompt(client, session, text)
        assert await history(client) == ["/costs", "first prompt"]  # no turn waits until a prompt is kept, a list does
    async with another(world) as client:
        assert await history(client) == ["/costs", "first prompt"]
        assert await history(client, query="fir", cwd=str(world.project)) == ["first prompt"]
        assert await history(client, cwd=str(world.folder)) == []
        assert await history(client, limit=1) == ["/costs"]
    assert b"very-secret" not in (world.data / "history.db").read_bytes()


async def test_prompts_are_not_kept_if_the_user_does_not_want_that(world: World, server: ModelServer) -> None:
    (world.folder / "config" / "config.json").write_text('{"sessions": {"promptHistory": false}}')
    await said(world, server, ("first prompt", "One."))
    async with another(world) as client:
        assert await history(client) == []
    assert not (world.data / "history.db").exists()


async def chosen(params: dict[str, Any], option: str) -> dict[str, Any]:
    """Answer a question with this option, or the first of this kind."""
    answer = selected(params, option)
    assert answer["outcome"]["optionId"] in [row["optionId"] for row in params["options"]]
    return answer


# -- slash commands ---------------------------------------------------------------------------------------------------


def wanted(client: RawAcpClient) -> list[object]:
    events = [message["params"] for _, message in client.transcript if message.get("method") == "_north/event"]
    return [row["conversationId"] for row in events if row["event"] == "conversation_wanted"]


async def test_quit_has_the_client_close_the_conversation_which_stays_stored(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hello.")))
    async with raw_client([*world.server, "acp"], world.environ, world.folder) as client:
        north = {"_meta": {"north": {"events": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": north})
        session = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        await prompt(client, session, "Hello")
        await prompt(client, session, "/quit")
        events = [message["params"] for _, message in client.transcript if message.get("method") == "_north/event"]
        assert [row["sessionId"] for row in events if row["event"] == "close_wanted"] == [session]
        assert "If it does not, close it there: it stays stored." in texts(client)
        await client.request("session/close", {"sessionId": session})
        assert await ids(client) == [session]


async def test_slash_commands_find_name_and_archive(world: World, server: ModelServer) -> None:
    old = await said(world, server, ("Explain the cache", "It holds quokkas."))
    async with conversation(world) as (client, session):
        await prompt(client, session, "/conversations quokka")
        assert f"- `{old}` **Explain the cache**, just now, 2 messages, claude-sonnet-4-5" in texts(client)
        assert "It holds quokkas." in texts(client)
        await prompt(client, session, "/conversations zebra")
        assert "No conversation here has 'zebra' in it." in texts(client)
        other = world.folder / "other"
        other.mkdir()
        put(world, "bb22", other)
        await prompt(client, session, "/conversations")
        assert "`bb22`" not in texts(client)
        await prompt(client, session, "/conversations --all about")
        assert f"- `bb22` **about bb22**, just now, 1 message, {other}" in texts(client)
        (world.data / "conversations" / "bb22.jsonl").unlink()
        await prompt(client, session, f"/resume {old[:4]}")
        assert f"**Explain the cache** (`{old}`) opens if your editor can" in texts(client)
        await prompt(client, session, "/resume zz")
        assert "No conversation starts with 'zz', and none here has that in it" in texts(client)
        client.handlers["session/request_permission"] = lambda params: chosen(params, "allow_once")
        await prompt(client, session, "/resume holds quokkas")
        assert texts(client).count("opens if your editor can") == 2
        await prompt(client, session, "/rename")
        assert "A title cannot be empty" in texts(client)
        await prompt(client, session, f"/archive {old}")
        assert await ids(client) == []
        await prompt(client, session, f"/archive undo {old}")
        assert await ids(client) == [old]
        await prompt(client, session, "/new")
        assert "A new conversation opens if your editor can." in texts(client)


async def test_in_a_new_conversation_continue_means_the_last_one(world: World, server: ModelServer) -> None:
    async with raw_client([*world.server, "acp"], world.environ, world.folder) as client:
        north = {"_meta": {"north": {"events": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": north})

        async def begin(window: str) -> str:
            where = {"cwd": str(world.project), "mcpServers": [], "_meta": {"north": {"windowId": window}}}
            return str((await client.request("session/new", where))["sessionId"])

        await prompt(client, await begin("one"), "/continue")
        assert "there is no other conversation here yet" in texts(client)
        mine, others = await begin("one"), await begin("two")
        for session in (mine, others):
            server.script(answer(Say("Hello.")))
            await prompt(client, session, "first")
        for window in ("one", "two", "three"):
            await prompt(client, await begin(window), "/continue")
        assert wanted(client) == [mine, others, others]
        await prompt(client, mine, "/continue")
        assert "There is nothing to continue: no answer broke off" in texts(client)
    assert len(server.requests) == 2


async def test_a_conversation_of_another_project_is_copied_here_or_opened_there(
    world: World, server: ModelServer
) -> None:
    other = world.folder / "other"
    other.mkdir()
    put(world, "bb22", other)
    asked: list[dict[str, Any]] = []
    async with raw_client([*world.server, "acp"], world.environ, world.folder) as client:
        north = {"_meta": {"north": {"events": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": north})
        new = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})

        async def resume(option: str) -> str:
            async def permit(params: dict[str, Any]) -> dict[str, Any]:
                asked.append(params)
                return await chosen(params, option)

            client.handlers["session/request_permission"] = permit
            client.updates.clear()
            await prompt(client, new["sessionId"], "/resume bb22")
            return texts(client)

        assert "This conversation stays open." in await resume("none")
        assert f"about another folder, {other}. Where should it continue?" in asked[0]["toolCall"]["title"]
        assert wanted(client) == []
        assert f"It is about another folder, {other}: open that one." in await resume("own")
        assert wanted(client) == ["bb22"]
        assert "A copy of **about bb22** for this project is stored as" in await resume("fork")
        events = [message["params"] for _, message in client.transcript if message.get("method") == "_north/event"]
        (copied,) = [row["conversationId"] for row in events if row["event"] == "conversation_copied"]
        assert await ids(client, cwd=str(world.project)) == [copied]
        assert await ids(client, cwd=str(other)) == ["bb22"]
        await client.request("session/load", there(copied, world.project))
        assert len(asked) == 3


async def test_a_client_that_knows_north_is_asked_to_open_another_conversation(
    world: World, server: ModelServer
) -> None:
    old = await said(world, server, ("Explain the cache", "It holds quokkas."))
    async with raw_client([*world.server, "acp"], world.environ, world.folder) as client:
        north = {"_meta": {"north": {"events": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": north})
        new = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        for text in (f"/resume {old}", "/new"):
            await prompt(client, new["sessionId"], text)
        assert wanted(client) == [old, None]


# -- titles -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def titled(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world in which conversations are named."""
    environ = {name: value for name, value in world.environ.items() if name != "NORTH_NO_TITLE"}
    monkeypatch.setattr(World, "environ", property(lambda _: environ))
    return world


async def title_of(client: RawAcpClient, session: str, wanted: str) -> None:
    await client.wait_update(lambda update: update.get("title") == wanted)


async def test_a_small_model_of_the_provider_names_a_conversation(titled: World, server: ModelServer) -> None:
    server.script(answer(Say("It caches.")), answer(Say('"How the cache works."\nmore')), answer(Say("Two.")))
    async with conversation(titled) as (client, session):
        await prompt(client, session, "Explain the cache, please")
        await title_of(client, session, "How the cache works")
        await prompt(client, session, "more")  # no second title
    assert len(server.requests) == 3
    asked = server.requests[1].body
    assert "haiku" in asked["model"]
    assert "tools" not in asked
    assert "Explain the cache, please" in str(asked["messages"])
    assert "It caches." in str(asked["messages"])
    records = [json.loads(line) for line in titled.log_entries()]
    (used,) = [one for one in records if one["type"] == "usage_recorded"]
    assert (used["purpose"], used["cost"] > 0) == ("title", True)
    assert [one["titleSource"] for one in records if one["type"] == "title_changed"] == ["auto", "auto"]


async def test_the_users_own_title_stays_when_the_models_arrives_late(titled: World, server: ModelServer) -> None:
    server.script(answer(Say("It caches.")), answer(Gate("title"), Say("Too late")))
    async with conversation(titled) as (client, session):
        await prompt(client, session, "first")
        await server.reached("title")
        await client.request("_north/sessions/rename", {"sessionId": session, "title": "Mine"})
        server.open("title")
        await prompt(client, session, "/costs")
    async with another(titled) as client:
        assert [row["title"] for row in (await client.request("session/list"))["sessions"]] == ["Mine"]


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        ('{"sessions": {"autoTitle": false}}', None),
        (
            '{"disabledProviders": [{"path": "/nowhere", "providers": ["openai"]}], "enabledModels": ["sonnet-4-5"]}',
            None,
        ),
        ('{"modelRoles": {"fast": "openai/gpt-5-mini"}}', None),
        ('{"modelRoles": {"fast": "anthropic/claude-sonnet-4-5"}}', "sonnet"),
    ],
)
async def test_when_a_title_is_asked_for(titled: World, server: ModelServer, settings: str, model: str | None) -> None:
    (titled.folder / "config" / "config.json").write_text(settings)
    server.script(answer(Say("It caches.")), *([answer(Say("A title"))] if model else []))
    async with conversation(titled) as (client, session):
        await prompt(client, session, "Explain it")
        if model:
            await title_of(client, session, "A title")
        await prompt(client, session, "/costs")
    assert len(server.requests) == (2 if model else 1)
    assert model is None or model in server.requests[1].body["model"]


async def test_a_title_that_fails_is_not_missed(titled: World, server: ModelServer) -> None:
    server.script(answer(Say("It caches.")), answer(Gate("title"), Say(" \n")), answer(Say("Two.")))
    async with conversation(titled) as (client, session):
        await prompt(client, session, "Explain it")
        await server.reached("title")
        assert await prompt(client, session, "more") == "end_turn"  # no turn waits for it
        server.open("title")
        await prompt(client, session, "/costs")
        assert (await client.request("_north/state/get", {"sessionId": session}))["name"] == "Explain it"
