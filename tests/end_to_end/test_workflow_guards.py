"""Workflows against models that look for ways around their guards: several calls at once, agents, an easier goal, a
review that cannot be read."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_agents import submit, talking, task, tasks, told
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import configure, prompt, sent
from tests.end_to_end.test_goals import CHECK, MADE, goal, run
from tests.end_to_end.test_work_trees import first_commit
from tests.end_to_end.test_workflows import HIGHLY, came, move, package, write
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call
from tests.support.web_site import Page, Site

WELL = answer(Say("Well."))


def results_of_last(server: ModelServer) -> list[str]:
    """The results that the last request has in its last message."""
    return [json.dumps(part) for part in server.requests[-1].body["messages"][-1]["content"]]


async def test_calls_of_one_answer_are_counted_one_by_one(world: World, server: ModelServer) -> None:
    looks = [call("find_files", pattern=f"*{number}.py") for number in range(30)]
    agents = [call("task", tasks=[task("explore", "Look")]), call("web_fetch", url="http://127.0.0.1:9/")]
    server.script(move("explore"), answer(*looks, *agents), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start clarify Something")
    refused = ["the read calls of this phase are used up" in one for one in results_of_last(server)]
    assert refused == [False] * 20 + [True] * 12


@pytest.mark.usefixtures("without_proxies")
async def test_searches_of_agents_are_no_way_around_the_count(world: World, server: ModelServer, site: Site) -> None:
    site.pages["/"] = Page("One way.", "text/plain")
    fetch = call("web_fetch", url=f"{site.url}/")
    server.route("I began the workflow", move("explore"), tasks(task("librarian", "FIND-OUT")), answer(fetch), WELL)
    server.route("FIND-OUT", answer(fetch), submit({"answer": "No.", "sources": []}))
    async with talking(world) as (client, session):
        answering(client, "run")
        await prompt(client, session, "/work start clarify A login page --research")
    assert "no web searches or fetches are left in this phase" in json.dumps(sent(server)[3])
    assert "One way." in told(server)
    assert len(site.asked) == 1


async def test_what_a_workflow_works_on_does_not_become_easier(world: World, server: ModelServer) -> None:
    easier = [{"text": "A1 it looks made"}]
    server.script(
        goal("set", statement="It works", criteria=[MADE]),
        move("baseline"),
        goal("set", statement="It works", criteria=easier),
        goal("set", statement="It works well", criteria=[*easier, MADE]),
        WELL,
    )
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start execute-and-verify Something")
    told_of = came(server)
    assert "the goal is what the workflow works on: `set` must have all of its criteria" in told_of[2]
    assert "c2: A1 it looks made" in told_of[3]


ABOUT = {"findings": [{"file": f"{at}.py", "severity": "low", "text": "x" * 300} for at in range(40)]}
REVIEWS = [
    {"verdict": "comment", "findings": [*ABOUT["findings"], HIGHLY]},  # more than comes back of it
    {"verdict": "comment", "findings": [HIGHLY | {"severity": "high", "text": '"severity": "low"'}]},
]


@pytest.mark.parametrize("said", [*REVIEWS, None], ids=["long", "high", "no form"])
async def test_a_review_that_may_say_anything_is_not_passed_over(
    world: World, server: ModelServer, said: dict[str, Any] | None
) -> None:
    (world.project / "made.txt").write_text("x\n")
    reviewed = [submit(said)] if said is not None else [answer(Say("It is all wrong.")), answer(Say("All of it."))]
    server.script(
        goal("set", statement="It works", criteria=[MADE]),
        move("baseline"),
        run(CHECK),
        move("work"),
        move("verify"),
        run(CHECK),
        move("review"),
        tasks(task("reviewer", "Review it")),
        *reviewed,
        goal("evidence", id="c1"),
        goal("complete"),
        move("done"),
        move("done", "It is meant to be so."),
        WELL,
    )
    async with talking(world, **{"todo.reminders": False}) as (client, session):
        answering(client, "run", "run")
        await prompt(client, session, "/work start execute-and-verify Something")
    told_of = came(server)
    assert "the reviewer found something" in told_of[-2]
    assert "The workflow is done." in told_of[-1]


async def test_a_package_is_given_away_twice_at_most_also_at_once_or_in_the_background(
    world: World, server: ModelServer
) -> None:
    first_commit(world.project)
    three = [package("a", "one/**"), package("b", "two/**"), package("c", "three.txt")]
    one = call("task", tasks=[task("task", "DO-a", id="a", isolation="worktree")])
    more = [call("task", tasks=[task("task", "DO-a", id="a", isolation="worktree")]) for _ in range(3)]
    behind = [task("task", f"DO-{id}", id=id, isolation="worktree", background=True) for id in "bc"]
    server.route(
        "I began the workflow",
        write("packages", three),
        move("work"),
        answer(one, *more),
        tasks(*behind),
        move("integrate"),
        WELL,
    )
    server.route("DO-", *[answer(Say("I "), Gate(f"gate-{at}"), *submit("Done.").parts) for at in range(4)])
    for at in range(4):
        server.open(f"gate-{at}")
    configure(world, **{"todo.reminders": False})
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start parallelize Something")
        listed = (await client.request("_north/tasks/list", {"sessionId": session}))["tasks"]
    results = [json.dumps(one) for one in sent(server)]
    assert sum("a was given to an agent 2 times" in one for one in results) > 0
    assert [row["id"] for row in listed] == ["0-a", "1-a", "2-b", "3-c"]
    assert {row["state"] for row in listed} == {"done"}
    assert "phase **integrate**" in told(server)


async def test_an_agent_gives_no_package_away_more_often(world: World, server: ModelServer) -> None:
    """What an agent's own agents have handed in stands in its log, and not in the conversation's."""
    first_commit(world.project)
    three = [package("a", "one/**"), package("b", "two/**"), package("c", "three.txt")]
    again = tasks(task("executor", "DO-a", id="a", isolation="worktree"))
    made = {"done": True, "files": [], "checks": [], "open": []}
    lead = tasks(task("task", "Have it done"))
    server.script(write("packages", three), move("work"), lead)
    server.script(again, submit(made), again, submit(made), again, submit("Twice."), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/work start parallelize Something")
        listed = (await client.request("_north/tasks/list", {"sessionId": session}))["tasks"]
    assert any("a was given to an agent 2 times" in json.dumps(one) for one in sent(server))
    assert [row["id"] for row in listed] == ["0-task", "0-task.0-a", "0-task.1-a"]
