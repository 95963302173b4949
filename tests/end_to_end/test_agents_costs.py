"""What agents use counts for their conversation, however they end."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_agents import submit, talking, task, tasks
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import configure, entries, prompt
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.test_work_trees import first_commit
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Fail, Gate, Say, Stop, StreamError, answer, call, usage
from tests.support.web_site import Page, Site

KINDS = ("input", "output", "cacheRead", "cacheWrite")


def _used(one: Answer, input: int, output: int, cache_read: int = 0) -> Answer:
    return Answer((*one.parts, usage(input=input, output=output, cache_read=cache_read)))


async def test_what_agents_use_adds_up_with_what_their_conversation_uses(world: World, server: ModelServer) -> None:
    """In a work tree, in the background, below another agent, cancelled in the middle of an answer, failed: what the
    vendor has counted, to the token."""
    first_commit(world.project)
    rows = [
        task("task", "TREE", id="tree", isolation="worktree"),
        task("task", "OTHER", id="other"),
        task("task", "STOPPED", id="stopped"),
        task("task", "FAILED", id="failed"),
        task("task", "BEHIND", id="behind", background=True),
    ]
    made = answer(call("edit_create_file", path="made.txt", content="x\n"), usage(input=1, output=2, cache_read=4))
    server.route("Have all done", _used(tasks(*rows), 10, 3), answer(Say("Well."), usage(input=20, output=5)))
    server.route("TREE", made, _used(submit("Tree."), 40, 7, 11))
    server.route("OTHER", _used(tasks(task("executor", "DEEPER")), 80, 13), _used(submit("Other."), 160, 17))
    server.route("DEEPER", _used(submit({"done": True, "files": [], "checks": [], "open": []}), 320, 19))
    server.route("STOPPED", answer(Say("I "), usage(input=640, output=1, cache_write=23), Gate("never")))
    server.route("FAILED", answer(Fail(400, "invalid_request_error", "no such thing")))
    server.route(
        "BEHIND",
        _used(answer(call("list_root")), 1280, 29),
        answer(Gate("b"), *_used(submit("Behind."), 2560, 31).parts),
    )
    async with talking(world) as (client, session):
        answering(client, "accept")
        blocks = text_blocks("Have all done")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("never")
        assert (await client.request("_north/tasks/cancel", {"sessionId": session, "taskId": "2-stopped"}))["cancelled"]
        assert (await client.answer(request))["stopReason"] == "end_turn"
        await server.reached("b")
        server.open("b")
        await client.wait(lambda message: "has ended its task 4-behind" in json.dumps(message))
        totals = _totals(client)
        listed = (await client.request("_north/tasks/list", {"sessionId": session}))["tasks"]
    inputs = 10 + 20 + 1 + 40 + 80 + 160 + 320 + 640 + 1280 + 2560
    outputs = 3 + 5 + 2 + 7 + 13 + 17 + 19 + 1 + 29 + 31
    cut = 1  # what the vendor has not said of the answer that was cut off is estimated
    assert [totals[kind] for kind in KINDS] == [inputs, outputs + cut, 4 + 11, 23]
    aside = [one for one in entries(world) if one["type"] == "usage_recorded"]
    assert {one["purpose"] for one in aside} == {"task:task", "task:executor"}
    own = sum(one["message"]["usage"]["input"] for one in entries(world) if "usage" in one.get("message", {}))
    assert own + sum(one["usage"]["input"] for one in aside) == inputs
    assert sum(row["tokens"] for row in listed) == sum(totals[kind] for kind in KINDS) - 10 - 3 - 20 - 5


@pytest.mark.usefixtures("without_proxies")
async def test_it_adds_up_in_every_ending_live_and_loaded(world: World, server: ModelServer, site: Site) -> None:
    """Refused, invalid, out of requests, without a form, cut off, stopped by a rule, asked again, with a page read by a
    model beside it."""
    site.pages["/"] = Page("A page.", "text/plain")
    folder = world.folder / "config" / "agents"
    folder.mkdir(parents=True)
    (folder / "few.md").write_text("---\nname: few\ndescription: Does little\nmaxRequests: 2\n---\nx")
    wants = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    left_out = call(
        "edit_create_file", path="r.py", content="x = 1\n# ... rest of the code unchanged ...\n" + "y = 2\n" * 99
    )
    page = call("web_fetch", url=f"{site.url}/", prompt="WHAT-IS-IT")
    endings: dict[str, list[Answer]] = {
        "REFUSED": [answer(Say("No."), Stop("refusal"))],
        "INVALID": [submit({"n": "x"}), submit({"n": "y"}), submit({"n": "z"})],
        "FEW": [answer(call("list_root")), answer(call("list_root"))],
        "FORMLESS": [answer(Say("I am done.")), answer(Say("Done."))],
        "EMPTY": [answer(), submit("Done.")],
        "BROKEN": [answer(Say("I "), StreamError("overloaded_error", "busy")), submit("Done.")],
        "RULE": [answer(left_out), submit("Done.")],
        "CUT": [answer(Say("I am"), Stop("max_tokens")), submit("Done.")],
        "PAGE": [answer(page), submit("Done.")],
        "WHAT-IS-IT": [answer(Say("It is a page."))],
    }
    sizes: list[int] = []

    def counted(one: Answer) -> Answer:
        sizes.append(100 + len(sizes) ** 2)  # no two are the same
        return _used(one, sizes[-1], 1)

    more: dict[str, dict[str, Any]] = {"INVALID": {"schema": wants}, "FEW": {"agent": "few"}}
    rows = [task("task", name, id=name) | more.get(name, {}) for name in endings if name != "WHAT-IS-IT"]
    server.route("WHAT-IS-IT", *map(counted, endings.pop("WHAT-IS-IT")))
    server.route("Have all done", counted(tasks(*rows)), counted(answer(Say("Well."))))
    for name, answers in endings.items():
        server.route(name, *map(counted, answers))
    configure(world, **{"retry.baseDelayMs": 1})
    async with talking(world) as (client, session):
        answering(client, "run")
        assert await prompt(client, session, "Have all done") == "end_turn"
        live = _totals(client)
        listed = (await client.request("_north/tasks/list", {"sessionId": session}))["tasks"]
    states = {row["id"].partition("-")[2]: row["state"] for row in listed}
    ends = {"REFUSED": "failed", "INVALID": "invalid", "FEW": "limit", "FORMLESS": "unstructured"}
    assert states == {name: ends.get(name, "done") for name in states}
    assert live["input"] == sum(sizes)
    async with talking(world) as (client, _):
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        loaded = _totals(client)
    assert [loaded[kind] for kind in KINDS] == [live[kind] for kind in KINDS]
    asides = [one["usage"]["input"] for one in entries(world) if one["type"] == "usage_recorded"]
    assert len(asides) == len({*asides}) == sum(map(len, endings.values())) + 1


def _totals(client: RawAcpClient) -> dict[str, Any]:
    rows = [one["update"] for one in client.updates if one["update"]["sessionUpdate"] == "usage_update"]
    found: dict[str, Any] = rows[-1]["_meta"]["north"]
    return found
