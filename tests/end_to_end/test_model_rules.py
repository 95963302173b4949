"""What models are sent, and who is asked, when something went wrong before."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure, entries, opened, prompt, serve, texts
from tests.end_to_end.test_room import model
from tests.end_to_end.test_room import serve as serve_sized
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Cut, Fail, Gate, Say, Stop, answer, call, raw, usage

BUSY = answer(Fail(529, "overloaded_error", "overloaded"))
ONCE = {"requestMaxRetries": 0, "streamMaxRetries": 0, "maxRetries": 0, "baseDelayMs": 8}


def roles(server: ModelServer) -> list[str]:
    return [message["role"] for message in server.requests[-1].body["messages"]]


async def test_a_refused_long_prompt_does_not_lock_the_conversation(world: World, server: ModelServer) -> None:
    serve_sized(world, server.url, model("m", 100_000))
    refused = answer(Say("No."), Stop("content_filter"), usage(input=99_500))
    server.script(answer(Say("Hello.")), refused, answer(Say("Still here.")))
    async with inside(world.environ, "there/m") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
        assert await prompt(client, session, "word " * 50_000) == "refusal"
        assert await prompt(client, session, "And now?") == "end_turn"
        assert texts(client).endswith("Still here.")
    used = [one["update"]["used"] for one in client.updates if one["update"]["sessionUpdate"] == "usage_update"]
    assert used[-1] < 10_000
    assert "word word" not in json.dumps(server.requests[-1].body)


async def test_an_empty_answer_is_asked_for_again_with_the_same_request(world: World, server: ModelServer) -> None:
    """With thinking on, a last word of the model's is refused."""
    server.script(answer(), answer(Say("Here I am.")), answer(Say("Bye.")))
    async with inside(world.environ, "sonnet-4-5:high") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
        assert await prompt(client, session, "Bye") == "end_turn"
    first, again, last = (request.body for request in server.requests)
    assert first["messages"] == again["messages"]
    assert [one["role"] for one in last["messages"]] == ["user", "assistant", "user"]
    assert "thinking" in again


async def test_a_chain_passes_over_models_without_a_key_at_every_prompt(world: World, server: ModelServer) -> None:
    configure(world, retry=ONCE | {"fallbackChains": {"there/m-1": ["openai/gpt-5.1", "there/m-2"]}})
    serve(world, "openai-completions", server.url, "m-1", "m-2")
    server.script(BUSY, answer(Say("One.")), answer(Say("Two.")))
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
        assert await prompt(client, session, "And now?") == "end_turn"
        assert texts(client).endswith("Two.")
    assert [request.body["model"] for request in server.requests] == ["m-1", "m-2", "m-2"]


async def test_a_chain_leads_to_no_provider_that_is_switched_off(world: World, server: ModelServer) -> None:
    settings: dict[str, Any] = {"disabledProviders": [{"path": str(world.project), "providers": ["elsewhere"]}]}
    configure(world, retry=ONCE | {"fallbackChains": {"there/m-1": ["elsewhere/m-2"]}}, **settings)
    there = {"baseUrl": f"{server.url}/v1", "api": "openai-completions", "apiKey": "sk-test-0123456789"}
    providers = {"there": there | {"models": [{"id": "m-1"}]}, "elsewhere": there | {"models": [{"id": "m-2"}]}}
    (world.folder / "config" / "models.json").write_text(json.dumps({"providers": providers}))
    server.script(BUSY, BUSY)
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        await prompt(client, session, "Hi")
        await prompt(client, session, "And now?")
    assert [request.body["model"] for request in server.requests] == ["m-1", "m-1"]


async def test_a_long_prompt_is_sent_whole(world: World, server: ModelServer) -> None:
    serve_sized(world, server.url, model("m", 900_000))
    server.script(answer(Say("Read.")))
    words = "word " * 120_000 + "the end"
    async with inside(world.environ, "there/m") as client:
        session = await opened(client, world)
        assert await prompt(client, session, words) == "end_turn"
    assert server.requests[0].body["messages"][-1]["content"] == words


async def test_a_failed_answer_is_no_part_of_later_requests(world: World, server: ModelServer) -> None:
    configure(world, retry=ONCE)
    server.script(answer(Say("Half of the answer"), Cut()), answer(Say("Whole.")))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "Hi")
        assert await prompt(client, session, "Again") == "end_turn"
    assert "Half of" not in server.requests[-1].raw.decode()
    assert roles(server) == ["user", "assistant", "user"]


async def test_a_cancelled_request_has_cost_what_the_vendor_counted(world: World, server: ModelServer) -> None:
    server.script(answer(usage(input=100_000), Gate("before the first word")), answer(Say("Here.")))
    async with inside(world.environ, "sonnet-4-5") as client:
        session = await opened(client, world)
        blocks = [{"type": "text", "text": "Hi"}]
        asked = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("before the first word")
        await client.request("_north/costs/get", {"sessionId": session})
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(asked))["stopReason"] == "cancelled"
        assert await prompt(client, session, "Again") == "end_turn"
    stored = json.loads((world.data / "costs.json").read_text())
    assert list(stored["byModel"]) == ["anthropic/claude-sonnet-4-5-20250929"]
    assert stored["allTimeCostUsd"] > 0.3
    # Users and models take turns, also where nothing was said.
    assert roles(server) == ["user", "assistant", "user"]
    (cancelled,) = [one for one in entries(world) if one.get("message", {}).get("stopReason") == "aborted"]
    assert cancelled["message"]["usage"]["cost"]["total"] > 0.3


async def test_the_wait_that_a_vendor_asks_for_is_shown_from_the_first_on(world: World, server: ModelServer) -> None:
    server.script(answer(Fail(429, "rate_limit_error", "too many", {"retry-after": "30"})), answer(Say("Here.")))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        blocks = [{"type": "text", "text": "Hi"}]
        asked = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        shown = await client.wait(lambda message: "Trying again in" in json.dumps(message))
        assert "30 s" in json.dumps(shown)
        await client.request("_north/retry/now", {"sessionId": session})
        assert (await client.answer(asked))["stopReason"] == "end_turn"


def responses(*items: dict[str, Any]) -> bytes:
    events = [
        {"type": f"response.output_item.{kind}", "output_index": index, "item": item}
        for index, item in enumerate(items)
        for kind in ("added", "done")
    ]
    events.append({"type": "response.completed", "response": {"status": "completed", "output": []}})
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


async def test_a_call_id_comes_once_whatever_the_items_are_called(world: World, server: ModelServer) -> None:
    looking = {"type": "function_call", "call_id": "c1", "name": "list_root", "arguments": "{}"}
    serve(world, "openai-responses", server.url)
    first, second = (answer(raw(responses(looking | {"id": f"fc_{number}"}))) for number in (1, 2))
    server.script(first, second, answer(Say("Done.")))
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
    calls = [item["call_id"] for item in server.requests[-1].body["input"] if item.get("type") == "function_call"]
    assert len(set(calls)) == 2


async def test_what_a_model_writes_as_a_number_may_be_anything(world: World, server: ModelServer) -> None:
    serve(world, "openai-completions", server.url)
    bad = ('{"path": "a", "startLine": 1e999}', '{"path": "a", "startLine": %s}' % ("9" * 5000), "[" * 5000)
    calls = [
        {"index": at, "id": f"c{at}", "function": {"name": "read_file", "arguments": text}}
        for at, text in enumerate(bad)
    ]
    counts = {"prompt_tokens": 10**400, "completion_tokens": 10**29}
    chunks = [{"choices": [{"delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}, {"usage": counts}]
    chunks.insert(0, {"choices": [{"delta": {"tool_calls": [{"index": [1], "function": {"name": "list_root"}}]}}]})
    stream = b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks)
    server.script(answer(raw(stream)), answer(Say("Done."), call("list_root")), answer(Say("Over.")))
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
        assert texts(client).endswith("Over.")
    results = [one["content"] for one in server.requests[1].body["messages"] if one["role"] == "tool"]
    assert sum("not valid JSON" in text for text in results) == 3


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses"])
async def test_strict_tools_work_as_others_do(world: World, server: ModelServer, api: str) -> None:
    flags = {"supportsStrictMode": True, "toolStrictMode": "all_strict"}
    there = {"baseUrl": f"{server.url}/v1", "api": api, "apiKey": "sk-test-0123456789", "models": [{"id": "m-1"}]}
    (world.folder / "config" / "models.json").write_text(
        json.dumps({"providers": {"there": there | {"compat": flags}}})
    )
    looking = call("find_files", pattern="decoder.py", path=None, limit=None, hidden=None, type=None, sort=None)
    server.script(answer(looking), answer(Say("There it is.")))
    async with inside(world.environ, "there/m-1") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Find it") == "end_turn"
    sent = json.dumps(server.requests[-1].body)
    assert '"strict": true' in sent
    assert "json/decoder.py" in sent
