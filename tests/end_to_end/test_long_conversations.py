"""A conversation goes on however long it gets: what is pruned, what is summarized, and what the user sees of it."""

import json
from typing import Any

from tests.end_to_end.test_faults import OVERFLOWS, configure, each_api, entries, opened, prompt, texts
from tests.end_to_end.test_faults import serve as serve_api
from tests.end_to_end.test_room import model, serve
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.narrow_model import NarrowModel
from tests.support.script import Fail, Gate, Say, answer, call, usage

WINDOW = 32_000


def compactions(world: World) -> list[dict[str, Any]]:
    return [entry for entry in entries(world) if entry["type"] == "compaction"]


async def test_a_conversation_of_ten_windows_goes_on(world: World) -> None:
    with NarrowModel(WINDOW) as server:
        serve(world, server.url, model("m", WINDOW))
        async with inside(world.environ, "there/m") as client:
            session = await opened(client, world)
            written = number = 0
            while written < 10 * WINDOW * 3.8:
                number += 1
                words = f"Question {number}: " + f"word{number} " * 2_500
                written += len(words)
                assert await prompt(client, session, words) == "end_turn", texts(client)[-500:]
            assert "**The request failed" not in texts(client)
        assert len(compactions(world)) >= 10
        assert server.overflows == 0
        assert all(f"Question {number}" in json.dumps(one.body) for one in server.requests[-2:])


LONG = "First " + "long " * 50_000
SHOWS: dict[str, object] = {"session": {"compaction": {}}}
SAID = json.dumps({"goal": "Rename it", "openTasks": ["the tests"], "shortSummary": "Renaming"})
ASKED = "You write summaries of conversations"


def rows(client: RawAcpClient) -> list[dict[str, Any]]:
    return [one["update"] for one in client.updates if one["update"]["sessionUpdate"] == "compaction_update"]


def used(client: RawAcpClient) -> list[int]:
    return [one["update"]["used"] for one in client.updates if one["update"]["sessionUpdate"] == "usage_update"]


async def talked(client: RawAcpClient, server: ModelServer, session: str, *prompts: str) -> None:
    read = 8_000
    for one in prompts:
        read += len(one) // 3
        server.script(answer(Say(f"Answer to {one[:6]}."), usage(input=read)))
        assert await prompt(client, session, one) == "end_turn"


@each_api
async def test_compact_puts_a_summary_before_what_is_kept(world: World, server: ModelServer, api: str) -> None:
    serve_api(world, api, server.url, "m-1")
    async with inside(world.environ, "there/m-1", capabilities=SHOWS) as client:
        session = await opened(client, world)
        await talked(client, server, session, LONG, "Second", "Third")
        server.script(answer(Say(SAID), usage(input=40_000, output=300)))
        assert await prompt(client, session, '/compact keep the "exact" names') == "end_turn"
        await talked(client, server, session, "Fourth")
        shown_live, usage_live = rows(client), used(client)[-1]
        cost = [one["update"]["cost"] for one in client.updates if one["update"]["sessionUpdate"] == "usage_update"]
        await client.request("session/close", {"sessionId": session})
        client.updates.clear()
        where = {"cwd": str(world.project), "mcpServers": []}
        await client.request("session/load", {"sessionId": session, **where})
        assert rows(client) == shown_live[-1:]
        assert used(client)[-1] == usage_live
        again = [one["update"]["cost"] for one in client.updates if one["update"]["sessionUpdate"] == "usage_update"]
        assert again[-1] == cost[-1]
    asked, after = json.dumps(server.requests[3].body), json.dumps(server.requests[4].body)
    assert ASKED in asked
    assert 'keep the "exact" names' in asked.replace("\\", "")
    assert "long long" in asked
    assert "long long" not in after
    assert after.index("Rename it") < after.index('"Second"') < after.index('"Fourth"')
    assert [row["status"] for row in shown_live] == ["in_progress", "completed"]
    assert "Rename it" in shown_live[-1]["summary"][0]["text"]
    (entry,) = compactions(world)
    assert entry["reason"] == "manual"
    assert entry["tokensAfter"] < entry["tokensBefore"] / 3
    assert [one["purpose"] for one in entries(world) if one["type"] == "usage_recorded"] == ["compaction"]


async def test_a_plain_client_is_told_in_words_live_and_on_replay(world: World, server: ModelServer) -> None:
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await talked(client, server, session, "First", "Second " + "long " * 3_000)
        server.script(answer(Say(SAID)))
        assert await prompt(client, session, "/summarize --keep-last 0") == "end_turn"
        assert "being summarized" in texts(client)
        assert "The conversation up to here was summarized for the model (about " in texts(client)
        client.updates.clear()
        await client.request("session/close", {"sessionId": session})
        where = {"cwd": str(world.project), "mcpServers": []}
        await client.request("session/load", {"sessionId": session, **where})
        assert "The conversation up to here was summarized for the model (about " in texts(client)
    assert not rows(client)


async def test_compact_says_why_there_is_nothing_to_do(world: World, server: ModelServer) -> None:
    async with inside(world.environ, capabilities=SHOWS) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "/compact") == "end_turn"
        await talked(client, server, session, "Hello")
        assert await prompt(client, session, "/compact now") == "end_turn"
        assert texts(client).count("There is nothing to summarize yet") == 2
        assert await prompt(client, session, "/summarize --keep-last 101") == "end_turn"
        assert "The number must be between 0 and 100" in texts(client)
    assert not rows(client)
    assert not compactions(world)


async def test_a_cancelled_summary_changes_nothing(world: World, server: ModelServer) -> None:
    async with inside(world.environ, capabilities=SHOWS) as client:
        session = await opened(client, world)
        await talked(client, server, session, LONG, "Second")
        server.script(answer(Say(SAID[:20]), Gate("half"), Say(SAID[20:])))
        blocks = [{"type": "text", "text": "/compact"}]
        asked = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("half")
        state = await client.request("_north/state/get", {"sessionId": session})
        assert (state["state"], state["isCompacting"]) == ("compacting", True)
        await client.notify("session/cancel", {"sessionId": session})
        await client.answer(asked)
        assert [row["status"] for row in rows(client)] == ["in_progress", "cancelled"]
        await talked(client, server, session, "Third")
    assert not compactions(world)
    assert "long long" in json.dumps(server.requests[-1].body)


async def test_a_summary_that_fails_is_told_and_the_turn_goes_on(world: World, server: ModelServer) -> None:
    serve(world, server.url, model("m", 40_000))
    async with inside(world.environ, "there/m", capabilities=SHOWS) as client:
        session = await opened(client, world)
        server.script(answer(Say("Read."), usage(input=30_500)))
        refused = answer(Fail(401, "authentication_error", "invalid x-api-key"))
        server.script(refused, refused, answer(Say("Still here."), usage(input=30_600)))
        assert await prompt(client, session, "First " + "long " * 10_000) == "end_turn"
        assert await prompt(client, session, "Second") == "end_turn"
        assert texts(client).endswith("Still here.")
        failed = [row for row in rows(client) if row["status"] == "failed"]
        assert failed
        assert "compaction did not succeed: m: " in failed[0]["error"]
    assert not compactions(world)
    assert "long long" in json.dumps(server.requests[-1].body)


async def test_what_is_no_json_is_asked_for_again_and_then_taken_as_it_is(world: World, server: ModelServer) -> None:
    async with inside(world.environ, capabilities=SHOWS) as client:
        session = await opened(client, world)
        await talked(client, server, session, LONG, "Second")
        server.script(answer(Say("They want it renamed.")), answer(Say("It is to be renamed.")))
        assert await prompt(client, session, "/compact") == "end_turn"
    (entry,) = compactions(world)
    assert entry["summary"] == "They want it renamed."
    assert "not the JSON object" in json.dumps(server.requests[-1].body)


async def test_a_promoted_conversation_is_short_again_for_the_chosen_model(world: World, server: ModelServer) -> None:
    serve(world, server.url, model("small", 40_000), model("large", 200_000))
    server.script(answer(Say("One."), usage(input=60_000)), answer(Say(SAID)), answer(Say("Two.")))
    async with inside(world.environ, "there/small", capabilities=SHOWS) as client:
        session = await opened(client, world)
        for words in ("First " + "long " * 30_000, "Second"):
            assert await prompt(client, session, words) == "end_turn"
        assert texts(client).endswith("Two.")
    assert [str(one.body["model"]) for one in server.requests] == ["large", "small", "small"]
    assert [entry["reason"] for entry in compactions(world)] == ["threshold"]


async def test_a_smaller_model_gets_a_summary_that_it_wrote_in_parts(world: World, server: ModelServer) -> None:
    serve(world, server.url, model("large", 900_000), model("small", 24_000))
    async with inside(world.environ, "there/large", capabilities=SHOWS) as client:
        session = await opened(client, world)
        await talked(client, server, session, *(f"{number}: " + f"word{number} " * 3_000 for number in range(6)))
        assert await prompt(client, session, "/model there/small") == "end_turn"
        server.script(*(answer(Say(json.dumps({"goal": f"part {number}"}))) for number in range(3)), answer(Say("Hm.")))
        assert await prompt(client, session, "Go on") == "end_turn"
        assert texts(client).endswith("Hm.")
    asked = [json.dumps(one.body) for one in server.requests if ASKED in json.dumps(one.body)]
    assert len(asked) == 3
    assert "part 0" in asked[1]
    (entry,) = compactions(world)
    assert entry["summary"].startswith("## Goal\n\npart 1")  # of the turns; the beginning of the last one follows
    assert entry["summary"].endswith("**Beginning of the current turn:**\n\n## Goal\n\npart 2")


async def test_what_the_vendor_refuses_for_its_length_is_sent_shorter_once(world: World, server: ModelServer) -> None:
    serve(world, server.url, model("m", 900_000))
    overflow = OVERFLOWS["openai-completions"]
    async with inside(world.environ, "there/m", capabilities=SHOWS) as client:
        session = await opened(client, world)
        await talked(client, server, session, LONG, "Second")
        server.script(overflow, answer(Say(SAID)), answer(Say("Short enough.")))
        assert await prompt(client, session, "Third") == "end_turn"
        assert texts(client).endswith("Short enough.")
        server.script(overflow)
        assert await prompt(client, session, "Fourth") == "end_turn"
        assert "the context cannot be reduced further" in texts(client)
    assert [entry["reason"] for entry in compactions(world)] == ["overflow"]


async def test_old_outputs_are_pruned_where_that_is_enough(world: World, server: ModelServer) -> None:
    serve(world, server.url, model("m", 60_000))
    (world.project / "big.txt").write_text("".join(f"line {number} of many\n" for number in range(4_000)))
    search = [call("search_text", query=f"line {number}") for number in range(14)]
    async with inside(world.environ, "there/m", capabilities=SHOWS) as client:
        session = await opened(client, world)
        server.script(*(answer(one) for one in search), answer(Say("Found."), usage(input=46_000)))
        server.script(answer(Say("Sure.")))
        configure(world, **{"digest.enabled": False})
        assert await prompt(client, session, "Search") == "end_turn"
        assert await prompt(client, session, "More?") == "end_turn"
    pruned = [entry for entry in entries(world) if entry.get("customType") == "pruned"]
    assert len(pruned) == 1
    assert json.dumps(server.requests[-1].body).count("[older output removed, about") == len(pruned[0]["ids"]) > 0
    assert not compactions(world)
    assert not rows(client)


async def test_a_handoff_begins_another_conversation_with_a_summary(world: World, server: ModelServer) -> None:
    async with inside(world.environ, north={"events": True}, capabilities=SHOWS) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "/handoff") == "end_turn"
        assert "There is nothing to hand over yet" in texts(client)
        await talked(client, server, session, "First", "Second")
        server.script(answer(Fail(401, "authentication_error", "no")))
        assert await prompt(client, session, "/handoff") == "end_turn"
        server.script(answer(Say(SAID)))
        assert await prompt(client, session, "/handoff it's the tests") == "end_turn"
        wanted = await client.wait(lambda message: message.get("params", {}).get("event") == "conversation_wanted")
        other = wanted["params"]["conversationId"]
        client.updates.clear()
        where = {"cwd": str(world.project), "mcpServers": []}
        await client.request("session/load", {"sessionId": other, **where})
        (row,) = rows(client)
        assert row["_meta"]["north"]["reason"] == "handoff"
        assert "Rename it" in row["summary"][0]["text"]
        await talked(client, server, other, "Go on")
        await talked(client, server, session, "Third")
    assert "it's the tests" in server.requests[-3].raw.decode()
    first, last = (request.raw.decode() for request in server.requests[-2:])
    assert "Rename it" in first
    assert "Answer to First" not in first
    assert "Rename it" not in last
    assert "Answer to First" in last
    told = [message.get("params", {}) for sender, message in client.transcript if sender == "agent"]
    assert any(one.get("event") == "notice" and "handoff failed: " in one["text"] for one in told)
