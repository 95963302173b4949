"""Slash commands in words that are sent while a turn runs, and questions of commands that nobody answers."""

import asyncio
import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import opened, prompt, texts
from tests.end_to_end.test_queue import ask, said, start
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer


async def test_words_that_are_a_command_alone_are_not_sent(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("here")))
    async with conversation(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        assert (await ask(client, session, "steer", prompt=text_blocks("/queue")))["delivered"]
        assert (await ask(client, session, "steer", prompt=text_blocks("!echo from-the-shell")))["delivered"]
        assert (await ask(client, session, "followUp", prompt=text_blocks("/queue")))["ok"]
        server.open("here")
        assert (await client.answer(first))["stopReason"] == "end_turn"
        assert "from-the-shell" in json.dumps([message for _, message in client.transcript])
    assert len(server.requests) == 1


async def never(params: dict[str, Any]) -> None:
    """Answers nothing."""


@pytest.mark.parametrize("way", ["session", "request"])
async def test_a_question_of_a_command_can_be_given_up(world: World, server: ModelServer, way: str) -> None:
    server.script(answer(Say("Here.")))
    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = never
        request = await start(client, session, "/costs reset")
        await client.wait(lambda message: message.get("method") == "session/request_permission")
        if way == "session":
            await client.notify("session/cancel", {"sessionId": session})
        else:
            await client.notify("$/cancel_request", {"requestId": request})
        await client.answer(request)
        assert await prompt(client, session, "And now?") == "end_turn"
        assert texts(client).endswith("Here.")


@pytest.mark.parametrize("method", ["steer", "followUp"])
async def test_a_slash_within_words_is_text_and_words_behind_a_command_are_its_own(
    world: World, server: ModelServer, method: str
) -> None:
    """Text that waits is answered when it is delivered: nobody may wait for that before the turn can go on."""
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two.")), answer(Say("Three.")))
    mixed, escaped = "Look at a/b and /queue, then go on", "\\/queue is text"
    async with inside(world.environ) as client:
        session = await opened(client, world)
        first = await start(client, session, "first")
        await server.reached("here")
        await ask(client, session, method, prompt=text_blocks("/queue and then go on"))
        waiting = [
            await client.start_request(f"_north/{method}", {"sessionId": session, "prompt": text_blocks(words)})
            for words in (mixed, escaped)
        ]
        # Before words with a slash are queued, the project's commands are looked for on a thread.
        while len((await ask(client, session, "queue/list"))[method]) < len(waiting):
            pass
        server.open("here")
        assert (await client.answer(first))["stopReason"] == "end_turn"
        for request in waiting:
            result = await client.answer(request)
            assert result.get("delivered", result.get("ok")) is True
        shown = texts(client)
    assert said(server) == ["first", mixed, "/queue is text"]
    assert "and then go on" not in server.requests[-1].raw.decode()
    assert shown.endswith("Three.")


@pytest.mark.parametrize("method", ["_north/steer", "_north/followUp", "session/prompt"])
async def test_a_question_of_a_command_holds_no_turn_up_and_no_turn_it(
    world: World, server: ModelServer, method: str
) -> None:
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two."), Gate("there")), answer(Say("Three.")))
    asked, decided = asyncio.Event(), asyncio.Event()

    async def later(params: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        await decided.wait()
        return {"outcome": {"outcome": "selected", "optionId": "keep"}}

    async with inside(world.environ) as client:
        client.handlers["session/request_permission"] = later
        session = await opened(client, world)
        first = await start(client, session, "first")
        await server.reached("here")
        command = await client.start_request(method, {"sessionId": session, "prompt": text_blocks("/costs reset")})
        await asked.wait()
        words = await client.start_request("_north/steer", {"sessionId": session, "prompt": text_blocks("Go on")})
        await ask(client, session, "queue/list")
        server.open("here")
        await server.reached("there")
        assert (await client.answer(words))["delivered"]
        server.open("there")
        assert (await client.answer(first))["stopReason"] == "end_turn"
        assert await prompt(client, session, "And now?") == "end_turn"
        decided.set()
        await client.answer(command)
        assert "Three." in texts(client)
    assert said(server) == ["first", "Go on", "And now?"]
