"""A goal with evidence, over ACP: that a criterion is met is what the log shows, not what a model says."""

import asyncio
import json
from typing import Any

import pytest

from tests.end_to_end.test_agents import submit, talking, task, tasks, told
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import prompt, sent, texts
from tests.end_to_end.test_mcp import entry, own
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Say, answer, call

WELL = answer(Say("Well."))
CHECK = "test -f made.txt"


def goal(action: str, **more: Any) -> Any:
    return answer(call("goal", action=action, **more))


def run(command: str) -> Any:
    return answer(call("shell_run", command=command))


MADE = {"text": "made", "command": CHECK}
SET = goal("set", statement="It works", criteria=[MADE, {"text": "it is tidy"}])
CHECKED = [goal("set", statement="It works", criteria=[MADE]), run(CHECK), goal("evidence", id="c1")]
MAKE = answer(call("edit_create_file", path="made.txt", content="x\n"))
MORE = answer(call("edit_create_file", path="more.txt", content="x\n"))


async def test_a_goal_is_complete_only_with_evidence_that_is_newer_than_the_last_edit(
    world: World, server: ModelServer
) -> None:
    server.script(
        SET,
        goal("evidence", id="c1"),  # it was never run
        run(CHECK),
        goal("evidence", id="c1"),  # it failed
        MAKE,
        goal("evidence", id="c1"),  # still the run that failed
        run(CHECK),
        goal("evidence", id="c1"),
        goal("evidence", id="c2"),  # without a word
        goal("evidence", id="c2", text="I looked at made.txt"),
        MORE,
        goal("complete"),  # files have changed since
        run(CHECK),
        goal("evidence", id="c1"),
        goal("evidence", id="c2", text="I looked at both"),
        goal("complete"),
        WELL,
    )
    async with talking(world) as (client, session):
        answering(client, "run", "accept", "run", "accept", "run")
        assert await prompt(client, session, "Make it work") == "end_turn"
        came = [json.dumps(one[-1]) for one in sent(server)[1:]]
        assert await prompt(client, session, "/goal") == "end_turn"
        assert "Status: complete" in texts(client)
    assert "was not run in this conversation" in came[1]
    assert "[!] c1: made" in came[3]
    assert "[!] c1: made" in came[5]
    assert "[x] c1: made" in came[7]
    assert "say in `text` what you saw" in came[8]
    assert "c1 is stale" in came[11]
    assert "c2 is stale" in came[11]
    assert "Status: complete" in came[15]


async def test_another_command_is_no_evidence(world: World, server: ModelServer) -> None:
    server.script(SET, run("true || test -f made.txt"), goal("evidence", id="c1"), goal("complete"), WELL)
    async with talking(world) as (client, session):
        answering(client, "run")
        await prompt(client, session, "Make it work")
    came = [json.dumps(one[-1]) for one in sent(server)[1:]]
    assert "was not run in this conversation" in came[2]
    assert "c1 is open" in came[3]


async def test_a_command_that_the_user_changed_is_no_evidence(world: World, server: ModelServer) -> None:
    server.script(SET, run(CHECK), goal("evidence", id="c1"), WELL)
    async with talking(world) as (client, session):

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            return {"outcome": {"outcome": "selected", "optionId": "run"}, "_meta": {"north": {"command": "true"}}}

        client.handlers["session/request_permission"] = decide
        await prompt(client, session, "Make it work")
    assert "was not run in this conversation" in told(server)


async def test_the_user_changes_the_goal_and_the_model_is_told_once(world: World, server: ModelServer) -> None:
    server.script(SET, WELL, WELL, WELL, goal("block", text="No disk"), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Make it work")
        await prompt(client, session, "/goal set # Done\n- [ ] c1: made: `test -f made.txt`\n- [ ] it is quick")
        assert "c2: it is quick" in texts(client)
        await prompt(client, session, "Go on")
        await prompt(client, session, "And on")
        first, second = (json.dumps(sent(server)[at][-1]) for at in (2, 3))
        assert "The user changed the goal of this conversation" in first
        assert "it is quick" in first
        assert "The user changed the goal" not in second
        client.updates.clear()
        await prompt(client, session, "/goal set nonsense")
        assert "Line 1 is neither a heading nor a criterion" in texts(client)
        await prompt(client, session, "Are you stuck?")
        assert "Status: blocked: No disk" in told(server)
        await prompt(client, session, "/goal drop")
        client.updates.clear()
        await prompt(client, session, "/goal")
        assert "There is no goal" in texts(client)


async def test_the_tool_is_looked_up_first_and_offered_while_there_is_a_goal(world: World, server: ModelServer) -> None:
    server.script(WELL, WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Hello")
        await prompt(client, session, "/goal set # Done\n- [ ] made")
        await prompt(client, session, "Go on")
    offered = [{tool["name"] for tool in one.body["tools"]} for one in server.requests]
    assert "goal" not in offered[0]
    assert "goal" in offered[1]


async def test_a_model_cannot_replace_the_goal_of_the_user(world: World, server: ModelServer) -> None:
    server.script(
        goal("set", statement="It works", criteria=[{"text": "trust me"}]),
        goal("set", statement="Easy", criteria=[MADE, {"text": "it is tidy"}]),
        goal("evidence", id="c2", text="looks fine"),
        goal("complete"),
        WELL,
    )
    async with talking(world) as (client, session):
        await prompt(client, session, f"/goal set # It works\n- made: `{CHECK}`")
        await prompt(client, session, "Go on")
    came = [json.dumps(one[-1]) for one in sent(server)[1:]]
    assert "the goal is the user's" in came[0]
    assert "# It works" in came[1]
    assert "c2: it is tidy" in came[1]
    assert "c1 is open" in came[3]


async def test_evidence_is_stale_after_a_command_that_does_more_than_look(world: World, server: ModelServer) -> None:
    (world.project / "made.txt").write_text("x\n")
    server.script(
        *CHECKED,
        run("ls json"),
        goal("view"),
        run("rm made.txt"),
        goal("complete"),
        WELL,
    )
    async with talking(world) as (client, session):
        answering(client, *["run"] * 3)
        await prompt(client, session, "Make it work")
    came = [json.dumps(one[-1]) for one in sent(server)[1:]]
    assert "(stale)" not in came[4]
    assert "c1 is stale" in came[6]


async def test_a_run_where_a_word_means_something_else_is_no_evidence(world: World, server: ModelServer) -> None:
    (world.project / "made.txt").write_text("x\n")
    elsewhere = answer(call("shell_run", command=CHECK, cwd="json"))
    part = answer(call("shell_run", command=CHECK, head=1))
    server.script(
        goal("set", statement="It works", criteria=[MADE]),
        elsewhere,
        goal("evidence", id="c1"),
        part,
        goal("evidence", id="c1"),
        run("test() { true; }"),
        run(CHECK),
        goal("evidence", id="c1"),
        run("unset -f test"),
        run(CHECK),
        goal("evidence", id="c1"),
        WELL,
    )
    async with talking(world) as (client, session):
        answering(client, *["run"] * 6)
        await prompt(client, session, "Make it work")
    came = [json.dumps(one[-1]) for one in sent(server)[1:]]
    assert "it ran in another folder" in came[2]
    assert "run it without `head` and `tail`" in came[4]
    assert "defined the function test" in came[7]
    assert "[x] c1: made" in came[10]


@pytest.mark.parametrize(
    ("does", "decision", "is_stale"),
    [
        (call("edit_create_file", path="more.txt", content="x"), "accept", True),
        (call("edit_create_file", path="more.txt", content="x"), "reject", False),
        (call("shell_run", command="touch more.txt"), "run", True),
        (call("shell_run", command="touch more.txt"), "deny", False),
        (call("shell_run", command="ls json"), "run", False),
        (call("shell_run", command=CHECK), "run", False),
    ],
)
async def test_what_an_agent_does_to_files_makes_evidence_stale(
    world: World, server: ModelServer, does: Any, decision: str, is_stale: bool
) -> None:
    (world.project / "made.txt").write_text("x\n")
    server.script(*CHECKED, tasks(task("task", "Do it")), answer(does), submit("Done."), goal("complete"), WELL)
    async with talking(world) as (client, session):
        answering(client, "run", decision)
        await prompt(client, session, "Make it work")
    assert ("c1 is stale" in told(server)) == is_stale
    assert ("Status: complete" in told(server)) != is_stale


async def test_a_command_that_was_stopped_halfway_makes_evidence_stale(world: World, server: ModelServer) -> None:
    (world.project / "made.txt").write_text("x\n")
    server.script(*CHECKED, run("touch more.txt; sleep 30"))
    async with talking(world) as (client, session):
        answering(client, "run", "run")
        request = await client.start_request(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Make it work"}]}
        )
        async with asyncio.timeout(PATIENCE):
            while not (world.project / "more.txt").exists():
                await asyncio.sleep(0.02)
        await client.notify("session/cancel", {"sessionId": session})
        await client.answer(request)
        server.drop()
        server.script(goal("complete"), WELL)
        await prompt(client, session, "Go on")
    assert "c1 is stale" in told(server)


async def test_a_command_that_changes_files_is_no_criterion(world: World, server: ModelServer) -> None:
    wrong = {"text": "gone", "command": "rm made.txt"}
    server.script(
        goal("set", statement="It works", criteria=[MADE, wrong]),
        goal("set", statement="It works", criteria=[MADE]),
        goal("add_criterion", text="gone", command="true && rm made.txt"),
        WELL,
        WELL,
    )
    async with talking(world) as (client, session):
        await prompt(client, session, "Make it work")
        came = [json.dumps(one[-1]) for one in sent(server)[1:]]
        await prompt(client, session, "/goal set # It works\n- gone: `rm made.txt`")
        assert "`rm made.txt` changes files" in texts(client)
        await prompt(client, session, "Go on")
    assert "a criterion's command only checks: `rm made.txt` changes files" in came[0]
    assert "[ ] c1: made" in came[1]
    assert "`true && rm made.txt` changes files" in came[2]
    assert "c1: gone" in json.dumps(sent(server)[-1])


async def test_the_command_of_a_criterion_runs_although_a_tool_does_better(world: World, server: ModelServer) -> None:
    search = "grep -rq def json"
    criteria = [{"text": "it is there", "command": search}]
    server.script(run(search), goal("set", statement="It works", criteria=criteria), run(search))
    server.script(goal("evidence", id="c1"), goal("complete"), WELL)
    async with talking(world) as (client, session):
        answering(client, "run")
        await prompt(client, session, "Make it work")
    assert "BLOCKED: use search_text" in json.dumps(sent(server)[1][-1])
    assert "Status: complete" in told(server)


@pytest.mark.parametrize(
    ("does", "decision", "is_stale"),
    [
        (call("mcp_mine_echo", text="x"), "run", True),
        (call("mcp_mine_fail"), "run", True),
        (call("mcp_mine_echo", text="x"), "deny", False),
        (call("mcp_mine_look", text="x"), "", False),
    ],
    ids=["a call", "one that fails", "denied", "one that only reads"],
)
@pytest.mark.parametrize("by", ["the model", "an agent"])
async def test_what_another_program_may_have_changed_makes_evidence_stale(
    world: World, server: ModelServer, does: Any, decision: str, is_stale: bool, by: str
) -> None:
    own(world, mine=entry())
    (world.project / "made.txt").write_text("x\n")
    done = [answer(does)] if by == "the model" else [tasks(task("task", "Do it")), answer(does), submit("Done.")]
    server.script(*CHECKED, *done, goal("complete"), WELL)
    async with talking(world) as (client, session):
        answering(client, "run", decision)
        await prompt(client, session, "Make it work")
    assert ("c1 is stale" in told(server)) == is_stale
    assert ("Status: complete" in told(server)) != is_stale


@pytest.mark.parametrize(("decision", "is_stale"), [("run", True), ("deny", False)])
async def test_what_a_job_is_told_makes_evidence_stale(
    world: World, server: ModelServer, decision: str, is_stale: bool
) -> None:
    (world.project / "made.txt").write_text("x\n")
    waits = answer(call("shell_run", command="cat > more.txt", background=True))
    server.script(waits, *CHECKED, answer(call("job", action="input", jobId="1", text="x\n")), goal("complete"), WELL)
    async with talking(world) as (client, session):
        answering(client, "run", "run", decision)
        await prompt(client, session, "Make it work")
    assert ("c1 is stale" in told(server)) == is_stale
