"""A question that waited when North was killed is asked again by the next process, and the turn goes on."""

import json
from typing import Any

import pytest

from tests.end_to_end.left import NORTH, asked, client_of, killed_while_asked, load, new_session, question
from tests.end_to_end.test_faults import entries, prompt, sent, texts
from tests.end_to_end.test_file_blocks import WHOLE, block, deciding, shown_calls
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import World
from tests.support.client import RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call
from tests.support.selecting import selected

READ = answer(call("read_file", path="json/decoder.py"))
EDIT = {"path": "json/decoder.py", "old": "import re\n", "new": "import re  # expressions\n"}


def statuses(world: World) -> list[str]:
    """What became of each review, in order."""
    found: dict[str, str] = {}
    for entry in entries(world):
        if entry["type"] == "review":
            found[entry["id"]] = entry["status"]
        elif entry["type"] == "entry_updated" and entry["targetId"] in found:
            found[entry["targetId"]] = entry["patch"].get("status", found[entry["targetId"]])
    return list(found.values())


def results(server: ModelServer) -> list[Any]:
    """The results of the calls in the last request."""
    parts = [part for one in server.requests[-1].body["messages"] for part in one["content"] if isinstance(part, dict)]
    return [part for part in parts if part["type"] == "tool_result"]


@pytest.mark.parametrize("option", ["accept", "reject"])
async def test_an_edit_is_asked_about_again_and_the_turn_goes_on(
    world: World, server: ModelServer, option: str
) -> None:
    first, later = call("edit_replace_exact", **EDIT), call("read_file", path="json/decoder.py", endLine=3)
    server.script(READ, answer(Say("I change it."), call("list_root"), first, later), answer(Say("Done.")))
    session = await killed_while_asked(world, "Change it")
    path = world.project / "json/decoder.py"
    before = path.read_text()
    async with client_of(world, **NORTH) as client:
        assert (await load(client, world, session))["unfinished"] == {"reason": "review"}
        assert [status for _, status in shown_calls(client)] == ["completed", "completed", "pending", "pending"]
        decided = deciding(client, option)
        assert await client.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
        (params,) = decided
        assert params["toolCall"]["toolCallId"] == first.id
        assert params["toolCall"]["content"][0]["type"] == "diff"
        assert texts(client).endswith("I change it.Done.")
        assert [status for _, status in shown_calls(client)][-1] == "completed"
        with pytest.raises(RpcFailure, match="no unfinished turn"):
            await client.request("_north/turn/resume", {"sessionId": session})
    accepted = before.replace(EDIT["old"], EDIT["new"], 1)
    assert path.read_text() == (accepted if option == "accept" else before)
    assert statuses(world) == ["superseded", {"accept": "accepted", "reject": "rejected"}[option]]
    told = results(server)
    assert len(told) == 4
    assert json.loads(told[2]["content"])["data"]["applied"] is (option == "accept")
    async with client_of(world, **NORTH) as client:
        assert "unfinished" not in await load(client, world, session)


async def test_a_dangerous_command_is_asked_about_as_the_first_time(world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="rm -rf json && echo gone")), answer(Say("Done.")))
    async with client_of(world, **NORTH) as client:
        asked(client)
        session = await new_session(client, world)
        await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Remove it")})
        first = await question(client)
        client.process.kill()
        await client.wait_exit()
    async with client_of(world, **NORTH) as client:
        assert (await load(client, world, session))["unfinished"] == {"reason": "review"}
        decided = deciding(client, "run")
        assert await client.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
        assert decided == [first]
    assert not (world.project / "json").exists()
    assert statuses(world) == ["superseded", "ran"]
    assert "gone" in str(results(server))


WHOLE_FILE = call("edit_create_file", path="json/decoder.py", content="# nothing else\n", overwrite=True)
BY_LINE = call("edit_insert_at_line", path="json/decoder.py", line=2, content="# here\n")


async def resumed_after_a_change(world: World, session: str, mine: str, *, option: str) -> tuple[list[Any], str]:
    """Change the file, and go on with the turn; returns the questions, and what was shown."""
    (world.project / "json/decoder.py").write_text(mine)
    async with client_of(world, **NORTH) as client:
        await load(client, world, session)
        questions = deciding(client, option)
        assert await client.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
        assert "json/decoder.py has changed since this edit was proposed" in str(client.updates)
        return questions, str([status for _, status in shown_calls(client)])


async def test_an_edit_of_a_file_that_has_changed_elsewhere_is_merged(world: World, server: ModelServer) -> None:
    server.script(READ, answer(call("edit_replace_exact", **EDIT)), answer(Say("I see.")))
    session = await killed_while_asked(world, "Change it")
    path = world.project / "json/decoder.py"
    mine = "# mine\n" + path.read_text() + "# and mine\n"
    (asked_again,), shown = await resumed_after_a_change(world, session, mine, option="accept")
    (diff,) = [part for part in asked_again["toolCall"]["content"] if part["type"] == "diff"]
    assert diff["oldText"].startswith("# mine\n")  # the user sees what it changes now
    assert shown == "['completed', 'completed']"
    assert path.read_text() == mine.replace(EDIT["old"], EDIT["new"], 1)
    assert statuses(world) == ["superseded", "accepted"]
    assert "has changed since it was read; the edit was applied to its current text" in results(server)[1]["content"]


@pytest.mark.parametrize("edit", ["same place", "whole file", "by line"])
async def test_an_edit_that_cannot_be_merged_fails_and_that_is_said(
    world: World, server: ModelServer, edit: str
) -> None:
    calls = {"same place": call("edit_replace_exact", **EDIT), "whole file": WHOLE_FILE, "by line": BY_LINE}
    server.script(READ, answer(calls[edit]), answer(Say("I see.")))
    session = await killed_while_asked(world, "Change it")
    path = world.project / "json/decoder.py"
    mine = "# mine\n" + path.read_text().replace(EDIT["old"], "import regex\n")
    questions, shown = await resumed_after_a_change(world, session, mine, option="accept")
    assert questions == []
    assert shown == "['completed', 'failed']"
    assert path.read_text() == mine
    told = json.loads(results(server)[1]["content"])
    assert told["ok"] is False
    if edit != "same place":
        assert "has changed: it is" in told["error"]["message"]
        assert "; changed: 1" in told["error"]["message"]
    assert statuses(world) == ["rejected"]


async def test_a_file_in_an_answer_is_asked_about_again(world: World, server: ModelServer) -> None:
    text = f"Two files.\n{block(WHOLE, 'one.txt')}{block(WHOLE, 'two.txt')}That was it."
    server.script(answer(Say(text)))
    async with client_of(world, **NORTH) as client:
        session = await new_session(client, world)
        count = 0

        async def decide(params: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal count
            count += 1
            return selected(params, "accept") if count == 1 else None

        client.handlers["session/request_permission"] = decide
        await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Write")})
        await client.wait(lambda message: "two.txt" in str(message) and "request_permission" in str(message))
        client.process.kill()
        await client.wait_exit()
    async with client_of(world, **NORTH) as client:
        await load(client, world, session)
        decided = deciding(client, "accept")
        assert await client.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
        assert len(decided) == 1
        assert "two.txt" in str(decided)
    assert (world.project / "one.txt").read_text() == (world.project / "two.txt").read_text() == WHOLE
    assert len(server.requests) == 1


async def test_another_prompt_gives_the_question_up(world: World, server: ModelServer) -> None:
    server.script(READ, answer(call("edit_replace_exact", **EDIT)), answer(Say("Something else.")))
    session = await killed_while_asked(world, "Change it")
    async with client_of(world, **NORTH) as client:
        await load(client, world, session)
        questions = asked(client)
        assert await prompt(client, session, "No, do something else") == "end_turn"
        assert questions == []
        assert [status for _, status in shown_calls(client)] == ["completed", "failed"]
    assert statuses(world) == ["rejected"]
    assert [text for role, text in sent(server)[-1] if role == "user"][-1].endswith("No, do something else")


async def test_the_question_survives_another_kill_and_a_stop_ends_it(world: World, server: ModelServer) -> None:
    server.script(READ, answer(call("edit_replace_exact", **EDIT)))
    session = await killed_while_asked(world, "Change it")
    async with client_of(world, **NORTH) as client:
        asked(client)
        await load(client, world, session)
        await client.start_request("_north/turn/resume", {"sessionId": session})
        await question(client)
        client.process.kill()
        await client.wait_exit()
    async with client_of(world, **NORTH) as client:
        asked(client)
        assert (await load(client, world, session))["unfinished"] == {"reason": "review"}
        running = await client.start_request("_north/turn/resume", {"sessionId": session})
        await question(client)
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(running))["stopReason"] == "cancelled"
        assert [status for _, status in shown_calls(client)] == ["completed", "failed"]
    assert statuses(world) == ["superseded", "superseded", "rejected"]


async def test_a_client_that_takes_up_no_turns_gets_the_question_refused(world: World, server: ModelServer) -> None:
    server.script(READ, answer(call("edit_replace_exact", **EDIT)))
    session = await killed_while_asked(world, "Change it")
    async with client_of(world) as client:
        assert await load(client, world, session) == {}
        assert [status for _, status in shown_calls(client)] == ["completed", "failed"]
        with pytest.raises(RpcFailure, match="no unfinished turn"):
            await client.request("_north/turn/resume", {"sessionId": session})
    assert statuses(world) == ["rejected"]
