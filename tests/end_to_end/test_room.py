"""A conversation that is too long for its model: what is sent, which model goes on with it, and what the user reads."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import OVERFLOWS, configure, entries, opened, prompt, texts
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, usage

LONG = "word " * 12_000
"""About 19,000 tokens, beside some 8,000 that every request has."""


def serve(world: World, url: str, *models: dict[str, Any]) -> None:
    there = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "sk-test-0123456789", "models": models}
    (world.folder / "config" / "models.json").write_text(json.dumps({"providers": {"there": there}}))


def model(id: str, window: int | None, **more: object) -> dict[str, Any]:
    return {"id": id, "maxTokens": 8_000, **more} | ({"contextWindow": window} if window else {})


def asked(server: ModelServer) -> list[str]:
    return [str(request.body["model"]) for request in server.requests]


async def test_a_larger_model_goes_on_and_the_choice_stays(world: World, server: ModelServer) -> None:
    configure(world, **{"compaction.enabled": False})
    serve(world, server.url, model("small", 24_000), model("huge", 900_000), model("large", 200_000))
    server.script(
        answer(Say("I have read it."), usage(input=30_000)), answer(Say("Still here.")), answer(Say("Short."))
    )
    async with inside(world.environ, "there/small") as client:
        session = await opened(client, world)
        assert await prompt(client, session, LONG) == "end_turn"
        assert "too long for small; large answers, with a larger window" in texts(client)
        assert texts(client).endswith("I have read it.")
        assert await prompt(client, session, "And now?") == "end_turn"
        fresh = await opened(client, world)
        assert await prompt(client, fresh, "Hello") == "end_turn"
    assert asked(server) == ["large", "large", "small"]
    changes = [entry for entry in entries(world) if entry["type"] == "model_change"]
    assert [(entry["reason"], entry["temporary"]) for entry in changes] == [("promotion", True)] * 2


async def test_what_the_vendor_takes_for_too_long_is_asked_again(world: World, server: ModelServer) -> None:
    named = {"contextPromotionTarget": "other"}
    serve(world, server.url, model("small", 100_000, **named), model("large", 200_000), model("other", 150_000))
    server.script(OVERFLOWS["openai-completions"], answer(Say("Here.")))
    async with inside(world.environ, "there/small") as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hello") == "end_turn"
        assert texts(client).endswith("Here.")
        assert "**The request failed" not in texts(client)
    assert asked(server) == ["small", "other"]
    assert server.requests[0].body["messages"] == server.requests[1].body["messages"]


@pytest.mark.parametrize("switched_off", [False, True])
async def test_where_no_other_model_can_go_on_nothing_is_sent(
    world: World, server: ModelServer, switched_off: bool
) -> None:
    if switched_off:
        configure(world, **{"contextPromotion.enabled": False})
    more = [model("large", 200_000)] if switched_off else []
    serve(world, server.url, model("small", 24_000), *more)
    server.script(answer(Say("Better.")))
    async with inside(world.environ, "there/small") as client:
        session = await opened(client, world)
        blocks = [{"type": "text", "text": LONG}]
        ended = await client.request("session/prompt", {"sessionId": session, "prompt": blocks})
        assert ended["_meta"]["north"]["error"]["kind"] == "context_overflow"
        assert "the context cannot be reduced further" in texts(client)
        assert "of 24,000 tokens. Start a new one, or choose a model with a larger window" in texts(client)
        assert not server.requests
        serve(world, server.url, model("small", 24_000), model("large", 200_000))
        assert await prompt(client, session, "/model there/large") == "end_turn"
        assert await prompt(client, session, "And now?") == "end_turn"
        assert texts(client).endswith("Better.")
    assert asked(server) == ["large"]
    assert LONG.strip() in json.dumps(server.requests[0].body)


async def test_an_answer_is_asked_to_fit_into_what_is_left(world: World, server: ModelServer) -> None:
    serve(world, server.url, model("small", 32_000), model("unsaid", None))
    server.script(answer(Say("Short.")), answer(Say("Whole.")))
    async with inside(world.environ, "there/small") as client:
        session = await opened(client, world)
        assert await prompt(client, session, LONG) == "end_turn"
        left = server.requests[0].body["max_tokens"]
        assert 1_024 < left < 8_000
        # Where nobody has told how large the window is, the vendor decides.
        await prompt(client, session, "/model there/unsaid")
        await prompt(client, session, LONG * 8)
    assert (asked(server), server.requests[1].body["max_tokens"]) == (["small", "unsaid"], 8_000)
