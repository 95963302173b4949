"""What happens in a turn beside answers and tools: steering, other models, refusals, repetition, costs, caches."""

import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure, entries, fail, prompt, sent, texts
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, Stop, Tokens, answer, call


@asynccontextmanager
async def conversation(world: World, *arguments: str, knows: bool = False) -> AsyncIterator[tuple[RawAcpClient, str]]:
    """A client with a session. One that `knows` North gets North's own fields, too."""
    announced: dict[str, Any] = {"_meta": {"north": {}}} if knows else {}
    async with raw_client([*SERVER, "acp", *arguments], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": announced})
        session = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        yield client, str(session["sessionId"])


def text_blocks(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


# -- steering --------------------------------------------------------------------------------------------------


async def test_words_sent_during_a_turn_are_delivered_between_its_steps(world: World, server: ModelServer) -> None:
    first = call("read_file", path="json/decoder.py")
    second = call("read_file", path="json/encoder.py")
    server.script(answer(Say("Reading."), Gate("here"), first, second), answer(Say("Only the first, then.")))
    async with conversation(world) as (client, session):
        request = await client.start_request(
            "session/prompt", {"sessionId": session, "prompt": text_blocks("Compare the two")}
        )
        await server.reached("here")
        steered = await client.start_request(
            "_north/steer", {"sessionId": session, "prompt": text_blocks("The first is enough")}
        )
        # The queue has the words as soon as a later request is answered.
        await client.request("_north/costs/get", {"sessionId": session})
        server.open("here")
        assert await client.answer(steered) == {"delivered": True}
        assert (await client.answer(request))["stopReason"] == "end_turn"
        assert texts(client).endswith("Only the first, then.")
    last = server.requests[-1].body["messages"]
    results = last[-2]["content"]
    assert [part["type"] for part in results] == ["tool_result"] * 2
    assert all("skipped: the user sent a new message" in part["content"] for part in results)
    assert last[-1]["content"][-1]["text"] == "The first is enough"
    said = [params["update"] for params in client.updates if params["update"]["sessionUpdate"] == "user_message_chunk"]
    assert [update["content"]["text"] for update in said] == ["The first is enough"]


async def test_words_that_come_at_the_end_go_on_with_the_turn(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Done"), Gate("end")), answer(Say("That as well.")))
    async with conversation(world) as (client, session):
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Go")})
        await server.reached("end")
        steered = await client.start_request("_north/steer", {"sessionId": session, "prompt": text_blocks("And this")})
        await client.request("_north/costs/get", {"sessionId": session})
        server.open("end")
        assert await client.answer(steered) == {"delivered": True}
        assert (await client.answer(request))["stopReason"] == "end_turn"
        assert [role for role, _ in sent(server)[-1]] == ["user", "assistant", "user"]


async def test_a_cancel_gives_back_what_was_not_delivered(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Working"), Gate("never")))
    async with conversation(world) as (client, session):
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Go")})
        await server.reached("never")
        waiting = await client.start_request(
            "session/prompt", {"sessionId": session, "prompt": text_blocks("queued words")}
        )
        steered = await client.start_request(
            "_north/steer", {"sessionId": session, "prompt": text_blocks("steering words")}
        )
        await client.request("_north/costs/get", {"sessionId": session})
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(request))["stopReason"] == "cancelled"
        assert (await client.answer(waiting))["stopReason"] == "cancelled"
        assert await client.answer(steered) == {"delivered": False}
        server.script(answer(Say("Hello again.")))
        assert await prompt(client, session, "Hello") == "end_turn"
    told = json.dumps(server.requests[-1].body)
    assert "queued words" not in told
    assert "steering words" not in told


async def test_there_is_nothing_to_steer_without_a_turn(world: World, server: ModelServer) -> None:
    async with conversation(world) as (client, session):
        with pytest.raises(RpcFailure, match="no turn is running"):
            await client.request("_north/steer", {"sessionId": session, "prompt": text_blocks("hello")})


# -- models that answer otherwise ------------------------------------------------------------


async def test_another_model_answers_where_the_user_has_named_one(world: World, server: ModelServer) -> None:
    chains = {"sonnet-4-5": ["haiku-4-5"]}
    configure(world, **{"retry.requestMaxRetries": 0, "retry.maxRetries": 0, "retry.fallbackChains": chains})
    server.script(fail(529, "overloaded_error", "overloaded"), answer(Say("Here I am.")), answer(Say("Still here.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Anybody?") == "end_turn"
        assert "Claude Haiku 4.5 answers instead" in texts(client)
        # The first model is left alone for a while.
        assert await prompt(client, session, "And now?") == "end_turn"
    models = [request.body["model"] for request in server.requests]
    assert [model.split("-")[1] for model in models] == ["sonnet", "haiku", "haiku"]
    assert [entry["reason"] for entry in entries(world) if entry["type"] == "model_change"] == ["retry"]


async def test_a_call_that_the_vendor_takes_for_orphaned_is_left_out(world: World, server: ModelServer) -> None:
    reading = call("read_file", "toolu_orphan", path="json/decoder.py")
    orphaned = fail(
        400,
        "invalid_request_error",
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_orphan.",
    )
    server.script(answer(reading), orphaned, answer(Say("It works again.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Read it") == "end_turn"
        assert texts(client) == "It works again."
    assert "toolu_orphan" in json.dumps(server.requests[1].body)
    assert "toolu_orphan" not in json.dumps(server.requests[2].body)
    assert "toolu_orphan" in "".join(world.log_entries())


async def test_a_refused_prompt_is_not_sent_again(world: World, server: ModelServer) -> None:
    server.script(answer(Say("I cannot"), Stop("refusal")), answer(Say("Gladly.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Something bad") == "refusal"
        assert await prompt(client, session, "Something good") == "end_turn"
    assert sent(server)[-1] == [("user", "Something good")]
    assert "Something bad" in "".join(world.log_entries())


async def test_an_empty_answer_is_asked_for_once_more(world: World, server: ModelServer) -> None:
    server.script(answer(Stop("end_turn")), answer(Stop("end_turn")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Hello?") == "end_turn"
        assert "The model returned an empty response twice" in texts(client)
    assert len(server.requests) == 2


async def test_a_model_that_repeats_itself_is_told_and_then_stopped(world: World, server: ModelServer) -> None:
    server.script(*(answer(call("read_file", path="nowhere.py")) for _ in range(6)))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Read it") == "end_turn"
        assert "same call six times" in texts(client)
    results = [text for _, text in sent(server)[-1] if "nowhere.py" in text]
    assert ["in a row" in text for text in results] == [False, False, True, True, True]


# -- costs and caches ------------------------------------------------------------


async def test_what_a_turn_used_is_counted_and_shown(world: World, server: ModelServer) -> None:
    used = Tokens(input=1000, output=200, cache_read=4000, cache_write=500)
    server.script(answer(Say("One."), used), answer(Say("Two."), used))
    async with conversation(world) as (client, session):
        await prompt(client, session, "1")
        await prompt(client, session, "2")
        costs = await client.request("_north/costs/get", {})
        usage = [params["update"] for params in client.updates if params["update"]["sessionUpdate"] == "usage_update"]
    # Per million tokens: 3 for input, 15 for output, 0.3 for what the cache gave and 3.75 for what it took.
    each = (1000 * 3 + 200 * 15 + 4000 * 0.3 + 500 * 3.75) / 1e6
    assert [round(update["cost"]["amount"], 9) for update in usage] == [round(each, 9), round(2 * each, 9)]
    assert usage[-1]["used"] == 5700
    assert usage[-1]["size"] == 200_000
    assert round(costs["allTimeCostUsd"], 9) == round(2 * each, 9)
    (row,) = costs["byModel"].values()
    assert (row["inputTokens"], row["cacheReadTokens"], row["requests"]) == (2000, 8000, 2)
    stored = [one["message"]["usage"]["cost"] for one in entries(world) if "usage" in one.get("message", {})]
    parts = {"input": 0.003, "output": 0.003, "cacheRead": 0.0012, "cacheWrite": 0.001875, "total": each}
    assert [{name: round(part, 9) for name, part in cost.items()} for cost in stored] == [parts, parts]


def without_breakpoints(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_breakpoints(item) for key, item in value.items() if key != "cache_control"}
    return [without_breakpoints(item) for item in value] if isinstance(value, list) else value


async def test_each_request_begins_with_the_whole_one_before_it(world: World, server: ModelServer) -> None:
    steps = [
        answer(Say("First I look."), call("list_root")),
        answer(call("read_file", path="json/decoder.py"), call("search_text", query="def ")),
        answer(Say("Broken off")),
        answer(call("read_file", path="no/such/file.py")),
        answer(Say("Done.")),
    ]
    server.script(*steps, *steps)
    async with conversation(world) as (client, session):
        for text in ("Look", "Look closer", "And again", "Once more"):
            await prompt(client, session, text)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:  # another process goes on
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        where = {"cwd": str(world.project), "mcpServers": []}
        await client.request("session/load", {"sessionId": session, **where})
        server.script(*steps)
        for text in ("Welcome back", "Look"):
            await prompt(client, session, text)
        server.script(answer(Say("x")))
    bodies = [without_breakpoints(request.body) for request in server.requests]
    assert len(bodies) > 10
    for before, after in itertools.pairwise(bodies):
        for key in ("system", "tools"):
            assert json.dumps(after[key]) == json.dumps(before[key])
        whole, longer = (json.dumps(body["messages"])[:-1] for body in (before, after))
        assert longer.startswith(whole)


async def test_ids_that_a_server_uses_again_are_kept_apart(world: World, server: ModelServer) -> None:
    first = answer(call("read_file", "call_0", path="json/decoder.py"), call("list_root", "call_0"))
    server.script(first, answer(call("read_file", "call_0", path="nowhere.py")), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Read") == "end_turn"
        named = [params["update"] for params in client.updates if params["update"]["sessionUpdate"] == "tool_call"]
        assert len({update["toolCallId"] for update in named}) == 3
    messages = server.requests[-1].body["messages"]
    asked = [part["id"] for message in messages for part in message["content"] if part["type"] == "tool_use"]
    told = [part["tool_use_id"] for message in messages for part in message["content"] if part["type"] == "tool_result"]
    assert asked == told
    assert len(set(asked)) == 3
