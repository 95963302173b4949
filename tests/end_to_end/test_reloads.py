"""A client that goes and comes back: what runs ends its step, and the next server goes on with the turn."""

import asyncio
from pathlib import Path

import pytest

from tests.end_to_end.left import NORTH, asked, client_of, load, new_session, question
from tests.end_to_end.test_faults import entries, sent, texts
from tests.end_to_end.test_file_blocks import deciding, shown_calls
from tests.end_to_end.test_left_turns import EDIT, READ, statuses
from tests.end_to_end.test_queue import start
from tests.end_to_end.test_two_editors import elsewhere, shown
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Gate, Say, answer, call

BACK = {**NORTH, "comesBack": True}


async def resumed(client: RawAcpClient, session: str) -> str:
    return str((await client.request("_north/turn/resume", {"sessionId": session}))["stopReason"])


async def test_an_answer_streams_on_and_the_turn_goes_on_in_the_next_server(world: World, server: ModelServer) -> None:
    server.script(
        answer(Say("I look", 1), Gate("one"), Say(" at it.", 1), call("read_file", path="json/decoder.py")),
        answer(Say("Done.")),
    )
    async with client_of(world, **BACK) as first, client_of(world, **BACK) as second:
        session = await new_session(first, world)
        await start(first, session, "Look")
        await server.reached("one")
        await shown(first, "I look")
        await first.close_stdin()
        opened = await load(second, world, session)
        assert "openElsewhere" in opened
        assert texts(second) == "I look"
        server.open("one")
        assert (await elsewhere(second, None))["unfinished"] == {"reason": "left"}
        assert await first.wait_exit() == 0
        assert texts(second) == "I look at it."
        assert [status for _, status in shown_calls(second)] == ["pending"]
        assert await resumed(second, session) == "end_turn"
        assert texts(second) == "I look at it.Done."
        assert [status for _, status in shown_calls(second)] == ["completed"]
    assert len([one for one in entries(world) if one["type"] == "message"]) == 4
    assert [role for role, _ in sent(server)[-1]].count("user") == 2  # the prompt and the result


async def test_a_question_waits_for_the_next_server(world: World, server: ModelServer) -> None:
    server.script(READ, answer(call("edit_replace_exact", **EDIT)), answer(Say("Done.")))
    async with client_of(world, **BACK) as first:
        asked(first)
        session = await new_session(first, world)
        await start(first, session, "Change it")
        await question(first)
        await first.close_stdin()
        assert await first.wait_exit() == 0
    assert statuses(world) == ["pending"]
    async with client_of(world, **BACK) as second:
        assert (await load(second, world, session))["unfinished"] == {"reason": "review"}
        deciding(second, "accept")
        assert await resumed(second, session) == "end_turn"
    assert EDIT["new"] in (world.project / "json/decoder.py").read_text()


async def test_a_turn_that_ends_meanwhile_is_over(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Half", 1), Gate("one"), Say(" and half.", 1)))
    async with client_of(world, **BACK) as first, client_of(world, **BACK) as second:
        session = await new_session(first, world)
        await start(first, session, "Say it")
        await server.reached("one")
        await first.close_stdin()
        await load(second, world, session)
        server.open("one")
        assert "unfinished" not in await elsewhere(second, None)
        assert texts(second) == "Half and half."
    assert entries(world)[-1]["reason"] == "exit"


@pytest.mark.parametrize("how", ["stop", "signal"])
async def test_a_command_ends_with_a_stop_in_the_next_window_or_a_signal(
    world: World, server: ModelServer, how: str
) -> None:
    began, ended = world.project / "began", world.project / "ended"
    command = "sh -c 'echo $$ > began; sleep 60; touch ended'"
    server.script(answer(call("shell_run", command=command)), answer(Say("No.")))
    async with client_of(world, **BACK) as first, client_of(world, **BACK) as second:
        deciding(first, "run")
        session = await new_session(first, world)
        await start(first, session, "Run it")
        await first.wait_update(lambda update: update.get("status") == "in_progress")
        async with asyncio.timeout(PATIENCE):
            while not began.exists() or not began.read_text().strip():
                await first.request("_north/state/get", {"sessionId": session})
        await first.close_stdin()
        await load(second, world, session)

        def is_leaving(message: dict[str, object]) -> bool:
            return message.get("method") == "_north/event" and "'leaving': True" in str(message)

        await second.wait(is_leaving)
        if how == "stop":
            await second.notify("session/cancel", {"sessionId": session})
        else:
            first.process.terminate()
        assert await first.wait_exit() in (0, 143)
        await elsewhere(second, None)
    assert not Path(f"/proc/{began.read_text().strip()}").exists()
    assert not ended.exists()


async def test_without_the_word_of_coming_back_the_turn_ends_with_the_client(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Half", 1), Gate("one")))
    async with client_of(world, **NORTH) as first:
        session = await new_session(first, world)
        await start(first, session, "Say it")
        await server.reached("one")
        await first.close_stdin()
        assert await first.wait_exit() == 0
    async with client_of(world, **NORTH) as second:
        assert "unfinished" not in await load(second, world, session)
