"""The todo list: as ACP's plan, as a document of the user's, in the prompt, and after a restart."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure, entries, opened, prompt, sent, texts
from tests.end_to_end.test_long_conversations import SAID
from tests.end_to_end.test_rewind import events, talk
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Gate, Say, answer, call

INIT = {"op": "init", "list": [{"phase": "Read", "items": ["a", "b"]}, {"phase": "Write", "items": ["c"]}]}


def todo(*ops: dict[str, Any], name: str = "todo") -> Answer:
    return answer(call(name, ops=list(ops)))


def plans(client: RawAcpClient) -> list[dict[str, Any]]:
    return [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "plan"]


def rows(plan: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(entry["content"], entry["status"], entry["priority"]) for entry in plan["entries"]]


def results(server: ModelServer) -> str:
    """What the last request tells of calls."""
    return json.dumps(sent(server)[-1][-1], ensure_ascii=False)


async def test_a_list_is_a_plan_for_every_client_and_comes_back_when_it_is_loaded(
    world: World, server: ModelServer
) -> None:
    configure(world, **{"todo.reminders": False})
    drop = {"op": "drop", "task": "b"}
    server.script(todo(INIT), todo({"op": "done", "task": "a"}, drop, name="todo_write"), answer(Say("So far.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Do it") == "end_turn"
        first, second = plans(client)
        assert rows(first) == [("a", "in_progress", "high"), ("b", "pending", "high"), ("c", "pending", "medium")]
        assert rows(second) == [("a", "completed", "low"), ("c", "in_progress", "high")]
        assert "_meta" not in second  # this client has not said that it knows North
    async with inside(world.environ, north={"events": True}) as client:
        there = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        await client.request("session/load", there)
        assert [rows(one) for one in plans(client)] == [rows(first), rows(second)]
        assert plans(client)[-1]["_meta"]["north"]["phases"] == [
            {
                "name": "Read",
                "tasks": [{"content": "a", "status": "completed"}, {"content": "b", "status": "abandoned"}],
            },
            {"name": "Write", "tasks": [{"content": "c", "status": "in_progress"}]},
        ]
        # What was closed is not in the list that goes on from here.
        assert (await client.request("_north/todo/get", {"sessionId": session}))["markdown"] == "# Write\n- [/] c\n"


@pytest.mark.parametrize("seconds", [None, 0, -5])
async def test_clients_are_told_how_long_what_is_closed_is_shown(
    world: World, server: ModelServer, seconds: int | None
) -> None:
    configure(world, **{"todo.reminders": False}, **({} if seconds is None else {"tasks.todoClearDelay": seconds}))
    server.script(todo(INIT), answer(Say("So far.")))
    async with talk(world) as (client, session):
        await prompt(client, session, "Do it")
        assert plans(client)[-1]["_meta"]["north"]["clearAfterSeconds"] == (60 if seconds is None else seconds)


async def test_a_call_says_what_it_completed_and_the_list_is_opened_when_the_user_wants_it(
    world: World, server: ModelServer
) -> None:
    configure(world, **{"todo.reminders": False})
    server.script(todo(INIT, {"op": "done", "task": "a"}), todo({"op": "done", "task": "b"}), answer(Say("So far.")))
    async with talk(world) as (client, session):
        await prompt(client, session, "Do it")
        await prompt(client, session, "/todo")
        assert len(events(client, "todo_wanted")) == 1
        await prompt(client, session, "/todo done c")
        assert len(events(client, "todo_wanted")) == 1
    messages = [one["message"] for one in entries(world) if one["type"] == "message"]
    kept = [one["details"] for one in messages if one.get("toolName") == "todo"]
    assert [(one["storage"], one["completedTasks"]) for one in kept] == [("session", ["a"]), ("session", ["b"])]


async def test_a_batch_with_an_error_changes_nothing_and_says_what_was_wrong(world: World, server: ModelServer) -> None:
    configure(world, **{"todo.reminders": False})
    server.script(
        todo(INIT),
        todo({"op": "done", "task": "a"}, {"op": "done", "task": "nowhere"}, {"op": "rm", "phase": "None"}),
        todo({"op": "done", "task": "a", "unknown": 1}),
        answer(Say("Well.")),
    )
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "Do it")
        assert len(plans(client)) == 1
    told = json.dumps(sent(server)[2], ensure_ascii=False)
    assert "Errors:" in told
    assert "there is no task 'nowhere'" in told
    assert "there is no phase 'None'" in told
    assert "Nothing of this call was recorded" in told
    assert "INVALID_INPUT" in results(server)


async def test_the_user_edits_the_list_and_the_model_is_told_with_its_next_request(
    world: World, server: ModelServer
) -> None:
    configure(world, **{"todo.reminders": False})
    server.script(todo(INIT), answer(Say("So far.")), answer(Say("I see.")), answer(Say("Nothing new.")))
    async with talk(world) as (client, session):
        await prompt(client, session, "Do it")
        edited = "# Read\n- [x] a\n- [-] b\n\n# Write\n- [ ] c\n- [ ] d <now>\n"
        came = await client.request("_north/todo/set", {"sessionId": session, "markdown": edited})
        assert came["markdown"] == edited.replace("[ ] c", "[/] c")
        assert rows(plans(client)[-1])[-1] == ("d <now>", "pending", "high")
        assert events(client, "plan_updated")[-1]["open"] == 2
        await prompt(client, session, "Go on")
        told = sent(server)[-1][-1][1]
        assert "The user changed the todo list:" in told
        assert "- in_progress → completed: a\n- pending → abandoned: b" in told
        assert "added: d <now> (pending)" in told
        await prompt(client, session, "And now?")
        assert "The user changed" not in sent(server)[-1][-1][1]  # it was told


async def test_an_edit_during_a_turn_is_told_with_the_next_request_of_that_turn(
    world: World, server: ModelServer
) -> None:
    configure(world, **{"todo.reminders": False})
    looking = answer(Say("Looking."), Gate("here"), call("get_line_count", path="json/decoder.py"))
    server.script(todo(INIT), looking, answer(Say("I see.")))
    async with talk(world) as (client, session):
        request = await client.start_request(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Do it"}]}
        )
        await server.reached("here")
        await client.request("_north/todo/set", {"sessionId": session, "markdown": "- [ ] only this\n"})
        server.open("here")
        await client.answer(request)
    assert "added: only this (in_progress)" in json.dumps(sent(server)[-1], ensure_ascii=False)


async def test_a_list_that_cannot_be_read_is_refused_with_its_line(world: World, server: ModelServer) -> None:
    async with talk(world) as (client, session):
        await client.request("_north/todo/set", {"sessionId": session, "markdown": "- [ ] a\n"})
        with pytest.raises(RpcFailure, match="line 2 is neither a heading"):
            await client.request("_north/todo/set", {"sessionId": session, "markdown": "- [ ] b\nwords\n"})
        assert (await client.request("_north/todo/get", {"sessionId": session}))["markdown"] == "# Todos\n- [/] a\n"
        with pytest.raises(RpcFailure, match="markdown"):
            await client.request("_north/todo/set", {"sessionId": session})


async def test_the_command_shows_and_changes_the_list(world: World, server: ModelServer) -> None:
    async with talk(world) as (client, session):
        assert await prompt(client, session, "/todo") == "end_turn"
        assert "The todo list is empty." in texts(client)
        await prompt(client, session, "/todo add Write the 'parser'")
        await prompt(client, session, "/todo add Test it")
        await prompt(client, session, "/todo done write")
        assert texts(client).rstrip().endswith("# Todos\n- [x] Write the 'parser'\n- [/] Test it")
        await prompt(client, session, "/todo drop nothing like it")
        assert "No tasks begin with 'nothing like it'" in texts(client)
        await prompt(client, session, "/todo set\n# Later\n- [ ] Rest\n")
        assert texts(client).rstrip().endswith("# Later\n- [/] Rest")
        await prompt(client, session, "/todo clear")
        assert plans(client)[-1]["entries"] == []
    assert not server.requests


async def test_a_model_that_stops_with_open_tasks_is_reminded_while_it_works_on_them(
    world: World, server: ModelServer
) -> None:
    done = [todo({"op": "done", "task": task}) for task in "ab"]
    server.script(
        todo(INIT),
        answer(Say("Stop.")),
        done[0],
        answer(Say("Stop.")),
        done[1],
        answer(Say("Stop.")),
        answer(Say("I need you.")),
    )
    async with talk(world) as (client, session):
        assert await prompt(client, session, "Do it") == "end_turn"
        assert [event["open"] for event in events(client, "todo_reminder")] == [3, 2, 1]
        assert "open tasks" not in texts(client)  # people are not shown it
    assert len(server.requests) == 7
    assert "The todo list has open tasks:\n- c" in sent(server)[-1][-1][1]


async def test_a_model_that_only_talks_is_reminded_once(world: World, server: ModelServer) -> None:
    server.script(todo(INIT), answer(Say("Which one first?")), answer(Say("Tell me.")))
    async with talk(world) as (client, session):
        assert await prompt(client, session, "Do it") == "end_turn"
        assert len(events(client, "todo_reminder")) == 1


async def test_reminders_and_the_tool_can_be_switched_off(world: World, server: ModelServer) -> None:
    configure(world, **{"todo.enabled": False})
    server.script(todo(INIT), answer(Say("Well.")))
    async with talk(world) as (client, session):
        await prompt(client, session, "Do it")
        assert plans(client) == []
    assert "todo" not in {tool["name"] for tool in server.requests[0].body["tools"]}
    assert "there is no tool called 'todo'" in results(server)


async def test_a_list_that_a_summary_has_replaced_is_told_again(world: World, server: ModelServer) -> None:
    configure(world, **{"todo.reminders": False})
    server.script(todo(INIT), answer(Say("So far. " * 50)), answer(Say(SAID)), answer(Say("Yes.")))
    async with talk(world) as (client, session):
        await prompt(client, session, "Do it")
        await prompt(client, session, "/summarize --keep-last 0")
        await prompt(client, session, "Go on")
    assert any(entry["type"] == "compaction" for entry in entries(world))
    assert "The todo list of this conversation:\n\n# Read\n- [/] a" in sent(server)[-1][-1][1]


async def test_going_back_goes_back_in_the_list(world: World, server: ModelServer) -> None:
    configure(world, **{"todo.reminders": False})
    server.script(answer(Say("Hello.")), todo(INIT), answer(Say("So far.")))
    async with talk(world) as (client, session):
        await prompt(client, session, "Hello")
        await prompt(client, session, "Do it")
        before = events(client, "turn_start")[1]["turnId"]
        await client.request(
            "_north/sessions/rewind", {"sessionId": session, "entryId": before, "what": "conversation"}
        )
        assert (await client.request("_north/todo/get", {"sessionId": session}))["phases"] == []
        assert plans(client)[-1]["entries"] == []
