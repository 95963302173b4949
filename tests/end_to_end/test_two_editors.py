"""One conversation in two editors: one writes, the other shows what happens there, live, and may take over."""

import json
import os
import threading
import time
from typing import Any

import anyio
import pytest

from north_lsp.agent.session.sharing import Sharing
from tests.end_to_end.left import NORTH, asked, client_of, load, new_session, question
from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_file_blocks import deciding, shown_calls
from tests.end_to_end.test_left_turns import EDIT, READ, statuses
from tests.end_to_end.test_queue import start
from tests.end_to_end.test_sessions import there
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Gate, Say, Think, answer, call


async def elsewhere(client: RawAcpClient, state: str | None) -> dict[str, Any]:
    """Wait until the client was told that the other process is in that state; None: that there is none any more."""

    def fits(message: dict[str, Any]) -> bool:
        params = message.get("params", {})
        if params.get("event") != "open_elsewhere":
            return False
        return params["by"] is None if state is None else params["by"] is not None and params["by"]["state"] == state

    return dict((await client.wait(fits))["params"])


def thoughts(client: RawAcpClient) -> str:
    kinds = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "agent_thought_chunk"]
    return "".join(update["content"]["text"] for update in kinds)


async def shown(client: RawAcpClient, text: str) -> None:
    async with client._news:
        await client._news.wait_for(lambda: text in texts(client))


async def test_what_is_open_does_not_count_as_old(world: World) -> None:
    async with client_of(world, **NORTH) as client:
        log = world.data / "conversations" / f"{await new_session(client, world)}.jsonl"
        long_ago = time.time() - 8 * 24 * 60 * 60
        os.utime(log, (long_ago, long_ago))
        with anyio.fail_after(PATIENCE):
            while log.stat().st_mtime < long_ago + 60:
                await anyio.sleep(0.01)


async def test_a_turn_elsewhere_is_shown_as_it_goes_on(world: World, server: ModelServer) -> None:
    server.script(
        READ,
        answer(Think("Hm."), Say("I change ", 1), Gate("one"), Say("it.", 1), call("edit_replace_exact", **EDIT)),
        answer(Say("Done.")),
    )
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        asked(first)
        session = await new_session(first, world)
        turn = await start(first, session, "Change it")
        await server.reached("one")
        await shown(first, "I change ")
        opened = await load(second, world, session)
        holder = opened["openElsewhere"]
        assert (holder["client"], holder["leaving"]) == ("Tests", False)
        assert holder["pid"] > 0
        assert (texts(second), thoughts(second)) == ("I change ", "Hm.")
        server.open("one")
        await elsewhere(second, "awaiting_review")
        assert texts(second) == "I change it."
        assert [status for _, status in shown_calls(second)] == ["completed", "pending"]
        with pytest.raises(RpcFailure, match="is open in another North"):
            await second.request("_north/turn/resume", {"sessionId": session})
        deciding(first, "accept")
        params = await question(first)
        asking = next(
            message["id"] for _, message in first.transcript if message.get("method") == "session/request_permission"
        )
        outcome = {"outcome": "selected", "optionId": params["options"][0]["optionId"]}
        await first.send({"id": asking, "result": {"outcome": outcome}})
        assert await first.answer(turn) == {"stopReason": "end_turn"}
        await elsewhere(second, "idle")
        assert (texts(second), thoughts(second)) == (texts(first), thoughts(first))
        assert shown_calls(second) == shown_calls(first)
        await first.request("session/close", {"sessionId": session})
        assert await elsewhere(second, None)


async def test_an_editor_that_ends_while_another_opens_the_conversation_is_not_said_to_be_there_for_ever(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, begun = Sharing.begin, []
    monkeypatch.setattr(Sharing, "begin", lambda *sharing: begun.append(sharing))
    server.script(answer(Say("Hello.")))
    async with inside(world.environ, None, {"events": True}) as second:
        async with client_of(world, **NORTH) as first:
            session = await new_session(first, world)
            await prompt(first, session, "Hello")
            assert (await load(second, world, session))["openElsewhere"]["pid"] > 0
        for sharing in begun:
            begin(*sharing)
        assert (await elsewhere(second, None))["by"] is None


async def test_it_is_taken_over_when_nothing_runs_there_and_back_again(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two."), Gate("two")), answer(Say("Three.")), answer(Say("Four.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        session = await new_session(first, world)
        assert await prompt(first, session, "first") == "end_turn"
        await load(second, world, session)
        turn = await start(first, session, "second")
        await server.reached("two")
        taking = await second.start_request("_north/sessions/takeOver", {"sessionId": session})
        server.open("two")
        assert (await first.answer(turn))["stopReason"] == "end_turn"
        assert await second.answer(taking) == {"ok": True}
        assert texts(second) == "One.Two."
        assert await prompt(second, session, "third") == "end_turn"
        await shown(first, "One.Two.Three.")
        assert (await elsewhere(first, "idle"))["by"]["client"] == "Tests"
        await first.request("_north/sessions/takeOver", {"sessionId": session})
        assert await prompt(first, session, "fourth") == "end_turn"
        await shown(second, "Four.")
        assert texts(first) == texts(second) == "One.Two.Three.Four."


async def test_two_that_want_it_at_once_get_it_one_after_the_other(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with (
        client_of(world, **NORTH) as first,
        client_of(world, **NORTH) as second,
        client_of(world, **NORTH) as third,
    ):
        session = await new_session(first, world)
        assert await prompt(first, session, "first") == "end_turn"
        await load(second, world, session)
        await load(third, world, session)
        takings = [
            await one.start_request("_north/sessions/takeOver", {"sessionId": session}) for one in (second, third)
        ]
        for one, taking in zip((second, third), takings, strict=True):
            assert await one.answer(taking) == {"ok": True}


async def test_an_answer_and_a_question_of_a_killed_process_are_there_at_once(
    world: World, server: ModelServer
) -> None:
    server.script(READ, answer(call("edit_replace_exact", **EDIT)), answer(Say("Done.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        asked(first)
        session = await new_session(first, world)
        await start(first, session, "Change it")
        await question(first)
        await load(second, world, session)
        first.process.kill()
        await first.wait_exit()
        assert (await elsewhere(second, None))["unfinished"] == {"reason": "review"}
        deciding(second, "accept")
        assert await second.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
    assert EDIT["new"] in (world.project / "json/decoder.py").read_text()
    assert statuses(world) == ["superseded", "accepted"]


async def test_what_a_killed_process_had_shown_is_not_shown_twice(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Half of it", 1), Gate("half")), answer(Say("Again.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        session = await new_session(first, world)
        await start(first, session, "Say it")
        await server.reached("half")
        await shown(first, "Half of it")
        await load(second, world, session)
        first.process.kill()
        await first.wait_exit()
        assert "unfinished" not in await elsewhere(second, None)
        assert await prompt(second, session, "again") == "end_turn"
        assert texts(second) == "Half of itAgain."
        assert "An interrupted answer was recovered" in str(second.updates)


async def test_nothing_is_shown_of_a_conversation_that_was_closed_while_it_was_looked_at(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    look, run = Sharing._look, Sharing._run
    is_wanted, is_looking, is_closed, ended = (threading.Event() for _ in range(4))

    def look_late(sharing: Sharing) -> Any:
        if is_wanted.is_set():
            is_looking.set()
            assert is_closed.wait(PATIENCE)
        return look(sharing)

    async def run_until_the_end(sharing: Sharing) -> None:
        await run(sharing)
        ended.set()

    monkeypatch.setattr(Sharing, "_look", look_late)
    monkeypatch.setattr(Sharing, "_run", run_until_the_end)
    server.script(answer(Say("One.")))
    async with inside(world.environ, None, {"events": True}) as client:
        session = await new_session(client, world)
        ask = {"sessionId": session, "configId": "mode", "value": "ask"}
        await client.request("session/set_config_option", ask)  # so it writes before the first prompt
        await prompt(client, session, "first")
        is_wanted.set()
        await anyio.to_thread.run_sync(is_looking.wait, PATIENCE)
        await client.request("session/close", {"sessionId": session})
        is_closed.set()
        await anyio.to_thread.run_sync(ended.wait, PATIENCE)
        assert texts(client) == "One."


async def test_it_can_be_deleted_while_it_is_open_elsewhere(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("one"), Say("Two.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        session = await new_session(first, world)
        turn = await start(first, session, "first")
        await server.reached("one")
        assert await second.request("session/delete", {"sessionId": session}) == {}
        await first.wait_update(lambda update: "it was deleted in another editor or chat" in str(update))
        server.open("one")
        assert (await first.answer(turn))["stopReason"] == "end_turn"
        assert "Two." in texts(first)
        assert "it was deleted in another editor" in await prompt(first, session, "second")
        assert (await second.request("session/list"))["sessions"] == []
        with pytest.raises(RpcFailure):
            await second.request("session/load", there(session, world.project))
        assert [path.suffix for path in (world.data / "conversations").iterdir() if session in path.name] == []
        assert f"`/restore {session}` puts it back" in await prompt(first, session, "third")
        assert await prompt(first, session, "/salvage") == "end_turn"
        assert f"There is no conversation '{session}'" in texts(first)
        assert await prompt(first, session, f"/restore {session}") == "end_turn"
        assert [row["sessionId"] for row in (await second.request("session/list"))["sessions"]] == [session]


async def test_commands_that_only_read_work_beside_the_editor_that_writes(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    async with client_of(world, **NORTH) as first, client_of(world) as second:
        session = await new_session(first, world)
        await prompt(first, session, "first")
        await load(second, world, session)
        assert "is open in another North" in await prompt(second, session, "go on")
        assert "is open in another North" in await prompt(second, session, "/rename Mine")
        for command in ("/tree", "/export read.md", "/fork"):
            assert await prompt(second, session, command) == "end_turn", command
        assert "you: first" in texts(second)
        assert "One." in (world.project / "read.md").read_text()
        assert "A copy of this conversation is stored as" in texts(second)
        assert await prompt(first, session, "second") == "end_turn"
        await shown(second, "Two.")
        assert "A copy" not in texts(first)
        listed = await second.request("session/list", {"cwd": str(world.project)})
        (copy,) = [row["sessionId"] for row in listed["sessions"] if row["sessionId"] != session]
        await load(second, world, copy)
        server.script(answer(Say("Three.")))
        assert await prompt(second, copy, "go on") == "end_turn"


async def test_the_load_of_a_long_conversation_keeps_nothing_else_waiting(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with client_of(world, **NORTH) as first:
        session = await new_session(first, world)
        assert await prompt(first, session, "first") == "end_turn"
    (log,) = (world.data / "conversations").glob("*.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    said = next(line for line in lines if line.get("message", {}).get("role") == "user")
    leaf = [line["id"] for line in lines if "parentId" in line][-1]
    with log.open("a") as file:
        for number in range(3000):
            entry = {**said, "id": f"{number:08x}", "parentId": leaf}
            leaf = entry["id"]
            file.write(json.dumps(entry) + "\n")
    async with client_of(world, **NORTH) as second:
        loading = await second.start_request("session/load", there(session, world.project))
        other = await second.start_request("session/list")
        await second.answer(loading)
        answered = [message["id"] for _, message in second.transcript if "result" in message]
        assert answered.index(other) < answered.index(loading)
        assert len([row for row in second.updates if "user_message" in str(row)]) == 3001


async def test_going_back_elsewhere_shows_what_there_is_now(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")), answer(Say("Three.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        session = await new_session(first, world)
        await prompt(first, session, "first")
        await prompt(first, session, "second")
        await load(second, world, session)
        (entry,) = [row["update"]["messageId"] for row in second.updates if "'second'" in str(row)]
        await elsewhere(second, "idle")
        second.updates.clear()
        await first.request("_north/sessions/rewind", {"sessionId": session, "entryId": entry})
        await second.wait(lambda message: message.get("params", {}).get("event") == "transcript_reset")
        assert await prompt(first, session, "third") == "end_turn"
        await shown(second, "Three.")
        assert texts(second) == "One.Three."


async def test_the_shell_begins_anew_where_the_other_editor_was_gone_before_anybody_looked(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_look, look = threading.Event(), Sharing._look

    def late(sharing: Sharing) -> Any:
        may_look.wait(PATIENCE)
        return look(sharing)

    server.script(answer(call("shell_run", command="pwd")), answer(Say("I see.")))
    notices: dict[str, object] = {"session": {"notices": {}}}
    async with client_of(world, **NORTH) as first, inside(world.environ, None, NORTH, notices) as second:
        deciding(first, "run")
        deciding(second, "run")
        session = await new_session(first, world)
        await prompt(first, session, "!cd json")
        monkeypatch.setattr(Sharing, "_look", late)
        await load(second, world, session)
        await first.request("session/close", {"sessionId": session})
        may_look.set()
        assert await elsewhere(second, None)
        assert await prompt(second, session, "Where are you?") == "end_turn"
        assert str(second.updates).count("The shell starts again here, in the main folder") == 1


@pytest.mark.parametrize("way", ["taken over", "closed there", "closed there, and another mode set"])
async def test_the_shell_begins_anew_and_that_is_said(world: World, server: ModelServer, way: str) -> None:
    where, told = call("shell_run", command="pwd; echo $MARK"), "The shell starts again here, in the main folder"
    server.script(answer(Say("One.")), answer(where), answer(Say("I see.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        deciding(first, "run")
        deciding(second, "run")
        session = await new_session(first, world)
        await prompt(first, session, "!cd json && export MARK=here")
        await prompt(first, session, "first")
        await load(second, world, session)
        if way == "taken over":
            await second.request("_north/sessions/takeOver", {"sessionId": session})
        else:
            await first.request("session/close", {"sessionId": session})
            assert await elsewhere(second, None)
            for mode in ("ask", "agent") if way.endswith("set") else ():
                await second.request("session/set_mode", {"sessionId": session, "modeId": mode})
        assert await prompt(second, session, "Where are you?") == "end_turn"
        assert str(second.updates).count(told) == 1
        result = str(server.requests[-1].body["messages"][-1])
        assert (
            "so the shell is a new one, in the main folder: variables and functions of earlier commands are" in result
        )
        assert f"{world.project}" in result
        assert "here" not in result.replace("there", "")
        if way != "taken over":
            return
        # The first one's own shell is not what the conversation says any more, either.
        server.script(answer(where), answer(Say("I see.")))
        await first.request("_north/sessions/takeOver", {"sessionId": session})
        assert await prompt(first, session, "And now?") == "end_turn"
        assert str(first.updates).count(told) == 1
        assert f"{world.project / 'json'}" not in str(server.requests[-1].body["messages"][-1])


async def test_a_turn_that_is_resumed_after_a_mode_was_set_has_a_new_shell(world: World, server: ModelServer) -> None:
    server.script(READ, answer(call("edit_replace_exact", **EDIT)), answer(Say("Done.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        asked(first)
        session = await new_session(first, world)
        await prompt(first, session, "!cd json")
        await start(first, session, "Change it")
        await question(first)
        await load(second, world, session)
        first.process.kill()
        await first.wait_exit()
        assert await elsewhere(second, None)
        for mode in ("ask", "agent"):
            await second.request("session/set_mode", {"sessionId": session, "modeId": mode})
        deciding(second, "accept")
        await second.request("_north/turn/resume", {"sessionId": session})
        assert str(second.updates).count("The shell starts again here, in the main folder") == 1


async def test_without_commands_nothing_is_said_of_the_shell(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    async with client_of(world, **NORTH) as first, client_of(world, **NORTH) as second:
        session = await new_session(first, world)
        await prompt(first, session, "first")
        await load(second, world, session)
        await second.request("_north/sessions/takeOver", {"sessionId": session})
        await prompt(second, session, "second")
        assert "The shell begins anew" not in str(second.updates)
