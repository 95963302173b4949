"""What a client is shown of the goal and the workflow: live as when the conversation is loaded, with what can be
decided."""

from typing import Any

import pytest

from tests.end_to_end.test_agents import talking
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_goals import CHECK, MAKE, MORE, SET, WELL, goal, run
from tests.end_to_end.test_queue import events
from tests.end_to_end.test_workflows import HIGH, move, write
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import answer, call


def shown(client: RawAcpClient) -> list[dict[str, Any]]:
    """What the client was told of the goal and the workflow, the last one at the end."""
    return [one for one in events(client) if one["event"] == "work_changed"]


def states(told: dict[str, Any]) -> list[str]:
    return [one["state"] for one in told["goal"]["criteria"]]


def decisions(told: dict[str, Any]) -> list[str]:
    return [one["prompt"] for one in told["decisions"]]


async def now(client: RawAcpClient, session: str) -> Any:
    return await client.request("_north/work/get", {"sessionId": session})


async def test_each_change_of_a_goal_is_shown_and_what_makes_its_evidence_stale(
    world: World, server: ModelServer
) -> None:
    server.script(SET, MAKE, run(CHECK), goal("evidence", id="c1"), MORE, WELL)
    async with talking(world) as (client, session):
        answering(client, "accept", "run", "accept")
        await prompt(client, session, "Make it work")
        assert [states(one) for one in shown(client)] == [["open", "open"], ["met", "open"], ["stale", "open"]]
        last = shown(client)[-1]
        assert last["goal"]["statement"] == "It works"
        assert last["goal"]["criteria"][0]["command"] == CHECK
        assert last["goal"]["criteria"][0]["evidence"]["text"] == "exit code 0"
        assert last["workflow"] is None
        assert decisions(last) == ["/work continue", "/goal confirm c2", "/goal drop"]
        await prompt(client, session, "/undo")
        await prompt(client, session, "/goal drop")
        assert shown(client)[-1]["goal"] is None
        assert shown(client)[-1]["decisions"] == []


async def test_a_criterion_that_is_judged_by_looking_is_confirmed_by_the_user(
    world: World, server: ModelServer
) -> None:
    server.script(SET, WELL, WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Make it work")
        await prompt(client, session, "/goal confirm c2")
        told = shown(client)[-1]
        assert states(told) == ["open", "met"]
        assert told["goal"]["criteria"][1]["evidence"]["text"] == "the user confirmed it"
        await prompt(client, session, "/goal confirm c1")
        assert "c1 can only be met by a run of its command" in texts(client)
        assert shown(client)[-1] == told
        await prompt(client, session, "/work continue")
    asked = server.requests[-1].body["messages"][-1]["content"]
    assert "Continue with the goal of this conversation" in str(asked)
    assert "[x] c2: it is tidy" in str(asked)  # the model is told


async def test_a_workflow_is_shown_with_its_phase_what_it_holds_and_what_is_left(
    world: World, server: ModelServer
) -> None:
    server.script(move("explore"), answer(call("list_root")), write("unknowns", [HIGH]), move("question"), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start clarify A login page")
        told = [one["workflow"] for one in shown(client)]
        first, last = told[0], told[-1]
        assert [one["phase"] for one in told if one != first][-1] == "question"
        assert (first["name"], first["phase"], first["folder"]) == ("clarify", "intake", ".north/work/a-login-page")
        assert first["held"] == {"why": "edits and commands are refused, except for the workflow's own documents"}
        assert {"callsLeft": 19} in [{key: one["held"][key] for key in one["held"] if key != "why"} for one in told]
        assert last["held"]["roundsLeft"] == 5
        assert [one["state"] for one in last["phases"]] == ["done", "done", "now", "ahead", "ahead"]
        assert decisions(shown(client)[-1]) == ["/work continue", "/work stop"]
        assert shown(client)[-1]["decisions"][-1]["consequence"] == "Models may change files again then."
        await prompt(client, session, "/work stop")
        assert shown(client)[-1]["workflow"] is None


async def test_it_is_the_same_when_the_conversation_is_loaded_or_resumed(world: World, server: ModelServer) -> None:
    server.script(SET, run(CHECK), WELL)
    async with talking(world) as (client, session):
        answering(client, "run")
        await prompt(client, session, "Make it work")
        live = {key: shown(client)[-1][key] for key in ("goal", "workflow", "decisions")}
        assert await now(client, session) == live
        await client.request("session/close", {"sessionId": session})
        before = len(shown(client))
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        (loaded,) = shown(client)[before:]
        assert {key: loaded[key] for key in live} == live
        await client.request("session/close", {"sessionId": session})
        await client.request("session/resume", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        assert await now(client, session) == live
        await prompt(client, session, "/work")
        resumed = shown(client)[before + 1 :]
        assert [{key: one[key] for key in live} for one in resumed] == [live]


async def test_the_goal_is_edited_as_a_document(world: World, server: ModelServer) -> None:
    async with talking(world) as (client, session):
        made = {"sessionId": session, "markdown": f"# It works\n- made: `{CHECK}`\n"}
        told = await client.request("_north/goal/set", made)
        assert f"- [ ] c1: made: `{CHECK}`" in told["markdown"]
        assert states(shown(client)[-1]) == ["open"]
        assert await client.request("_north/goal/get", {"sessionId": session}) == told
        with pytest.raises(RpcFailure, match="line 1"):
            await client.request("_north/goal/set", {**made, "markdown": "nonsense"})
        await client.request("_north/goal/set", {**made, "markdown": ""})
        assert shown(client)[-1]["goal"] is None


async def test_who_edits_the_goal_is_warned_of_commands_that_change_files(world: World, server: ModelServer) -> None:
    async with talking(world) as (client, session):
        made = {"sessionId": session, "markdown": "# It works\n- made: `rm -rf out`\n"}
        await client.request("_north/goal/set", made)
        (told,) = [one for one in events(client) if one["event"] == "notice"]
        assert "These commands may change files" in told["text"]
        assert "rm -rf out" in told["text"]


async def test_going_back_goes_back_in_the_goal(world: World, server: ModelServer) -> None:
    server.script(WELL, SET, WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Hello")
        await prompt(client, session, "Make it work")
        assert shown(client)
        _, second = (one["turnId"] for one in events(client) if one["event"] == "turn_start")
        await client.request("_north/sessions/rewind", {"sessionId": session, "entryId": second})
        assert (await now(client, session))["goal"] is None
        names = [one["event"] for one in events(client)]
        assert "work_changed" not in names[names.index("transcript_reset") :]  # a client puts it away
