"""A client may act in the instant in which it hears of something: what it was told has happened by then."""

from typing import Any

import pytest

from tests.acp.test_hunk_reviews import NEW, OLD, Reviewer, edit, session, turn
from tests.end_to_end.test_queue import listening, start
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import answer, say


async def restore(client: RawAcpClient, id: str, **way: Any) -> int:
    return await client.start_request("_north/checkpoints/restore", {"sessionId": id, **way})


def outcomes(answer: Any) -> list[str]:
    return [file["outcome"] for file in answer["files"]]


async def test_an_undo_and_a_redo_in_the_same_instant_are_done_one_after_the_other(
    world: World, server: ModelServer
) -> None:
    path = world.project / "a.txt"
    async with session(world, Reviewer(lambda params: {})) as (client, id):
        await turn(client, id, server, *edit())
        ways: list[dict[str, Any]] = [{"steps": 1}, {"redo": 1}, {"steps": 1}, {"redo": 1}]
        sent = [await restore(client, id, **way) for way in ways]
        assert [outcomes(await client.answer(one)) for one in sent] == [["restored"]] * 4
        assert path.read_text() == NEW


@pytest.mark.parametrize("heard", ["the answer", "turn_end", "state_changed"])
async def test_an_edit_is_taken_back_in_the_instant_in_which_the_turn_ends(
    world: World, server: ModelServer, heard: str
) -> None:
    path = world.project / "a.txt"
    path.write_text(OLD)
    async with listening(world) as (client, id):
        client.handlers["session/request_permission"] = Reviewer(lambda params: {})
        server.script(answer(*edit()), answer(say("Done.")))
        sent = await start(client, id, "go")

        def ends(message: dict[str, Any]) -> bool:
            if heard == "the answer":
                return message.get("id") == sent and "method" not in message
            params = message.get("params", {})
            return bool(params.get("event") == heard and params.get("state", "idle") == "idle")

        await client.wait(ends)
        undone = await restore(client, id, steps=1)
        assert outcomes(await client.answer(undone)) == ["restored"]
        assert path.read_text() == OLD


async def test_everything_may_follow_an_answer_at_once(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    async with session(world, Reviewer(lambda params: {})) as (client, id):
        await turn(client, id, server, *edit())
        server.script(answer(say("Again.")))
        undone = await restore(client, id, steps=1)
        mode = await client.start_request("session/set_mode", {"sessionId": id, "modeId": "ask"})
        prompt = await start(client, id, "once more")
        assert outcomes(await client.answer(undone)) == ["restored"]
        assert await client.answer(mode) == {}
        assert (await client.answer(prompt))["stopReason"] == "end_turn"
        assert path.read_text() == OLD
        closed = await client.start_request("session/close", {"sessionId": id})
        listed = await client.start_request("session/list", {})
        assert await client.answer(closed) == {}
        assert len((await client.answer(listed))["sessions"]) == 1


async def test_while_a_turn_runs_or_is_about_to_nothing_is_taken_back(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    async with session(world, Reviewer(lambda params: {})) as (client, id):
        await turn(client, id, server, *edit())
        server.script(answer(say("Again.")))
        prompt = await start(client, id, "once more")
        undone = await restore(client, id, steps=1)
        with pytest.raises(RpcFailure, match="wait for it to end, or cancel it"):
            await client.answer(undone)
        await client.answer(prompt)
        assert path.read_text() == NEW
