"""What a killed process leaves behind: everything that its client had received, and everything that it had accepted."""

import pytest

from tests.end_to_end.test_faults import prompt, sent, texts
from tests.end_to_end.test_queue import ask, start
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Call, Gate, Say, Think, answer


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
        await client.request("initialize", {"protocolVersion": 1})
        await client.request("session/load", {"sessionId": session, **loading(world)})
        assert (texts(client), thoughts(client)) == live
        ended = await client.wait_update(lambda update: update.get("status") == "failed")
        assert ended["toolCallId"] == "toolu_1"
        assert await prompt(client, session, "go on") == "end_turn"
    told = [message for _, message in sent(server)[-1] if "interrupted before a result" in message]
    assert len(told) == 1
