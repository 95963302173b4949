"""Reading goes on whatever is open: hundreds of requests, and lines that are no messages."""

from tests.end_to_end.test_queue import ask, start
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer


async def test_two_hundred_open_requests_and_a_broken_line(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Working"), Gate("never")))
    async with conversation(world) as (client, session):
        running = [await start(client, session, "first")]
        await server.reached("never")
        running += [await start(client, session, f"prompt {number}") for number in range(200)]
        await client.send_raw(b"{this is no message\n")
        broken = await client.wait(lambda message: message.get("error", {}).get("code") == -32700)
        assert broken["id"] is None
        assert len((await ask(client, session, "queue/list"))["steer"]) == 200
        await client.notify("session/cancel", {"sessionId": session})
        for id in running:
            assert (await client.answer(id))["stopReason"] == "cancelled"
        assert (await ask(client, session, "state/get"))["queueCount"] == 0
    assert len(server.requests) == 1
