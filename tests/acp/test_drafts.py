"""What ACP's draft adds and North announces: titles, archive, status, signing in, switches. The schema checks all."""

from pathlib import Path
from typing import Any

import pytest

from tests.acp.test_conformance import agent, fails, new_session, prompt
from tests.end_to_end.world import World, make_world
from tests.support.client import RawAcpClient


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


async def listed(client: RawAcpClient, **params: Any) -> dict[str, tuple[str, bool]]:
    """The title, and whether it is archived, by id."""
    rows = (await client.request("session/list", params))["sessions"]
    return {row["sessionId"]: (row["title"], row["archived"]) for row in rows}


async def test_what_of_the_draft_there_is_is_announced(world: World) -> None:
    async with agent(world) as client:
        (answer,) = [message["result"] for sender, message in client.transcript if sender == "agent"]
    capabilities = answer["agentCapabilities"]
    assert {"fork", "archive", "status", "title"} <= capabilities["sessionCapabilities"].keys()
    assert capabilities["auth"] == {"status": {}, "logout": {}}
    assert capabilities["providers"] == {}


@pytest.mark.parametrize("is_open", [True, False])
async def test_a_title_is_the_users(world: World, is_open: bool) -> None:
    async with agent(world) as client:
        session = await new_session(client, world)
        await prompt(client, session, "Hello")
        if not is_open:
            await client.request("session/close", {"sessionId": session})
        told = await client.request("session/set_title", {"sessionId": session, "title": "  My\nown "})
        assert told == {"title": "My own"}
        assert await listed(client) == {session: ("My own", False)}
        if is_open:
            await client.wait_update(lambda update: update.get("title") == "My own")
        assert (await fails(client, "session/set_title", {"sessionId": session, "title": " "})).code == -32602
        assert (await fails(client, "session/set_title", {"sessionId": session})).code == -32602
        assert (await fails(client, "session/set_title", {"sessionId": "none", "title": "x"})).code == -32002


@pytest.mark.parametrize("is_open", [True, False])
async def test_an_archived_session_is_closed_and_hidden(world: World, is_open: bool) -> None:
    async with agent(world) as client:
        session, other = await new_session(client, world), await new_session(client, world)
        for id in (session, other):
            await prompt(client, id, "Hello")
        if not is_open:
            await client.request("session/close", {"sessionId": session})
        for _ in range(2):
            assert await client.request("session/archive", {"sessionId": session}) == {}
        assert await client.request("session/status", {"sessionId": session}) == {"status": "saved"}
        assert await listed(client) == await listed(client, archived="exclude") == {other: ("Hello", False)}
        assert await listed(client, archived="only") == {session: ("Hello", True)}
        assert await listed(client, archived="include") == {session: ("Hello", True), other: ("Hello", False)}
        assert (await fails(client, "session/list", {"archived": "some"})).code == -32602
        for _ in range(2):
            assert await client.request("session/unarchive", {"sessionId": session}) == {}
        assert len(await listed(client)) == 2
        for method in ("session/archive", "session/unarchive"):
            failure = await fails(client, method, {"sessionId": "../none"})
            assert (failure.code, failure.data) == (-32002, {"sessionId": "../none"})


async def test_archiving_cancels_what_runs(world: World) -> None:
    async with agent(world) as client:
        asked: list[Any] = []

        async def never(params: dict[str, Any]) -> None:
            asked.append(params)

        client.handlers["session/request_permission"] = never
        session = await new_session(client, world)
        text = [{"type": "text", "text": "run `touch made`"}]
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": text})
        await client.wait(lambda message: message.get("method") == "session/request_permission")
        await client.request("session/archive", {"sessionId": session})
        assert (await client.answer(running))["stopReason"] == "cancelled"
    assert not (world.project / "made").exists()


async def test_the_status_of_a_session_changes_nothing(world: World) -> None:
    async with agent(world) as client:
        session = await new_session(client, world)
        await prompt(client, session, "Hello")
        assert await client.request("session/status", {"sessionId": session}) == {"status": "open"}
        await client.request("session/close", {"sessionId": session})
        assert await client.request("session/status", {"sessionId": session}) == {"status": "saved"}
        assert await client.request("session/status", {"sessionId": session}) == {"status": "saved"}
        failure = await fails(client, "session/status", {"sessionId": "none"})
        assert (failure.code, failure.data) == (-32002, {"sessionId": "none"})


async def test_without_a_key_none_is_required_and_with_one_it_is_named_but_not_shown(world: World) -> None:
    async with agent(world) as client:
        assert await client.request("auth/status") == {"state": "not_required"}
        key = {"provider": "anthropic", "key": "sk-ant-very-secret-1234", "force": True}
        await client.request("_north/keys/set", key)
        told = await client.request("auth/status")
        assert told["state"] == "authenticated"
        assert told["accounts"] == [{"label": "Anthropic (North's own store (…1234))", "active": True}]
        await client.request("logout")
        assert await client.request("auth/status") == {"state": "not_required"}


async def test_a_client_that_has_asked_for_its_status_is_told_of_another_one(world: World) -> None:
    def told() -> list[dict[str, Any]]:
        return [one["params"] for _, one in client.transcript if one.get("method") == "auth/status_update"]

    key = {"provider": "anthropic", "key": "sk-ant-very-secret-1234", "force": True}
    async with agent(world) as client:
        await client.request("_north/keys/set", key)
        assert told() == []  # it has not asked: it may not know of it
        assert (await client.request("auth/status"))["state"] == "authenticated"
        await client.request("_north/keys/set", key)
        assert told() == []  # nothing is different
        await client.request("_north/keys/set", key | {"provider": "openai"})
        await client.request("logout")
        await client.wait(lambda message: message.get("params") == {"state": "not_required"})
        assert [len(one.get("accounts", ())) for one in told()] == [2, 0]


async def test_instructions_of_the_client_are_refused_and_not_left_out(world: World) -> None:
    wanted = {"cwd": str(world.project), "mcpServers": [], "systemPrompt": {"mode": "append", "content": []}}
    async with agent(world) as client:
        session = await new_session(client, world, systemPrompt=None)
        await prompt(client, session, "Hello")
        for method in ("session/new", "session/load", "session/resume", "session/fork"):
            failure = await fails(client, method, {"sessionId": session, **wanted})
            assert (failure.code, failure.data) == (-32602, {"field": "systemPrompt"})
        assert len(await listed(client)) == 1


async def test_what_is_on_or_off_is_a_switch_for_a_client_that_has_those(world: World) -> None:
    switches: dict[str, Any] = {"configOptions": {"boolean": {}}}
    async with agent(world, session=switches) as client:
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        options = {one["id"]: one for one in made["configOptions"]}
        assert [(options[id]["type"], options[id]["currentValue"]) for id in ("_edits", "_shell")] == [
            ("boolean", False)
        ] * 2
        change = {"sessionId": made["sessionId"], "configId": "_edits", "type": "boolean", "value": True}
        answered = await client.request("session/set_config_option", change)
        changed = {one["id"]: one["currentValue"] for one in answered["configOptions"]}
        assert (changed["_edits"], changed["_shell"]) == (True, False)
        assert (await fails(client, "session/set_config_option", change | {"value": 1})).code == -32602
    async with agent(world) as client:
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        assert {one["type"] for one in made["configOptions"]} == {"select"}


async def test_pages_of_a_list_hold_each_session_once_although_one_goes_on_meanwhile(world: World) -> None:
    async with agent(world) as client:
        ids = []
        for _ in range(52):
            ids.append(await new_session(client, world))
            await prompt(client, ids[-1], "Hello")
        first = await client.request("session/list")
        await prompt(client, ids[0], "More")  # it is the newest now
        second = await client.request("session/list", {"cursor": first["nextCursor"]})
        found = [row["sessionId"] for row in (*first["sessions"], *second["sessions"])]
        assert found == [*reversed(ids[1:])]
