"""What a killed process leaves behind: everything that its client had received, and everything that it had accepted."""

from pathlib import Path

import pytest

from tests.end_to_end.test_faults import prompt, sent, texts
from tests.end_to_end.test_queue import ask, start
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import SERVER, World
from tests.endurance.kills_of_turns import campaign
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Call, Gate, Say, Think, answer

RECOVERED = "*An interrupted answer was recovered.*\n\n"

KNOWS = {"protocolVersion": 1, "clientCapabilities": {"_meta": {"north": {}}}}
"""An `initialize` of a client that knows North."""


def thoughts(client: RawAcpClient) -> str:
    kept = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "agent_thought_chunk"]
    return "".join(update["content"]["text"] for update in kept)


def loading(world: World) -> dict[str, object]:
    return {"cwd": str(world.project), "mcpServers": []}


@pytest.mark.parametrize("text", ["H", "Half of an answer, younger than any timer"])
async def test_what_was_shown_of_an_answer_is_there_after_a_kill(world: World, server: ModelServer, text: str) -> None:
    call = Call("read_file", {"path": "json/decoder.py", "startLine": 3}, "toolu_1", held=Gate("never"))
    server.script(answer(Think("I have to think."), Say(text), call))
    async with conversation(world) as (client, session):
        await start(client, session, "first")
        await client.wait_update(lambda update: update["sessionUpdate"] == "tool_call")
        client.process.kill()
        await client.wait_exit()
    live = texts(client), thoughts(client)
    assert live == (text, "I have to think.")
    server.script(answer(Say("Done.")))
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        await client.request("session/load", {"sessionId": session, **loading(world)})
        assert (texts(client).replace(RECOVERED, ""), thoughts(client)) == live
        ended = await client.wait_update(lambda update: update.get("status") == "failed")
        assert ended["toolCallId"] == "toolu_1"
        assert await prompt(client, session, "go on") == "end_turn"
    told = [message for _, message in sent(server)[-1] if "interrupted before a result" in message]
    assert len(told) == 1


async def test_kills_at_random_instants_lose_nothing(tmp_path: Path) -> None:
    """A slice of what `just endurance` does."""
    done = await campaign(tmp_path / "world", 10, 7)
    assert done["killed"] == 10


async def killed_with_words_waiting(world: World, server: ModelServer, texts: list[str]) -> str:
    """A turn that stands at a gate, with words behind it; the process is killed. Gives the session."""
    server.script(answer(Say("One."), Gate("here")))
    async with conversation(world) as (client, session):
        await start(client, session, "first")
        await server.reached("here")
        await start(client, session, texts[0], "followUp")
        await client.start_request("_north/steer", {"sessionId": session, "prompt": text_blocks(texts[1])})
        for text in texts[2:]:
            assert (await ask(client, session, "followUp", prompt=text_blocks(text)))["ok"]
        client.process.kill()
        await client.wait_exit()
    return session


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_accepted_words_come_back_after_a_kill_once(world: World, server: ModelServer, method: str) -> None:
    words = ["with a request", "for this turn", "third", "fourth"]
    session = await killed_with_words_waiting(world, server, words)
    server.script(answer(Say("Two.")))
    for back in (words, []):
        async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
            await client.request("initialize", KNOWS)
            opened = await client.request(method, {"sessionId": session, **loading(world)})
            meta = opened.get("_meta", {}).get("north", {}).get("queued", [])
            assert [row["text"] for row in meta] == back
            for text in back:
                await client.wait_update(lambda update, text=text: f"was not sent: {text}" in str(update))  # type: ignore[misc]
            if back:
                assert await prompt(client, session, "next") == "end_turn"
    assert [text for role, text in sent(server)[-1] if role == "user"][-1].endswith("next")
    assert not any(word in str(sent(server)[-1]) for word in words)


async def test_words_that_were_delivered_do_not_come_back(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("one")), answer(Say("Two."), Gate("two")), answer(Say("No.")))
    async with conversation(world) as (client, session):
        await start(client, session, "first")
        await server.reached("one")
        for text in ("second", "third"):
            assert (await ask(client, session, "followUp", prompt=text_blocks(text)))["ok"]
        server.open("one")
        await server.reached("two")
        client.process.kill()
        await client.wait_exit()
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        opened = await client.request("session/load", {"sessionId": session, **loading(world)})
        assert [row["text"] for row in opened["_meta"]["north"]["queued"]] == ["third"]
    server.open("two")


async def test_words_that_wait_when_the_client_goes_away_are_offered_again(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("here")))
    async with conversation(world) as (client, session):
        await start(client, session, "first")
        await server.reached("here")
        assert (await ask(client, session, "followUp", prompt=text_blocks("second")))["ok"]
        await client.close_stdin()
        assert await client.wait_exit() == 0
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        opened = await client.request("session/load", {"sessionId": session, **loading(world)})
        assert [row["text"] for row in opened["_meta"]["north"]["queued"]] == ["second"]
