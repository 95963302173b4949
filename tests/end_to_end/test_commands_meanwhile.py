"""Slash commands in words that are sent while a turn runs, and questions of commands that nobody answers."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_queue import ask, start
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
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
