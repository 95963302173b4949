"""What agents use counts for their conversation, however they end."""

import json

from tests.end_to_end.test_agents import submit, talking, task, tasks
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import entries
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.test_work_trees import first_commit
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Fail, Gate, Say, answer, call, usage

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
        (totals,) = [
            one["update"]["_meta"]["north"]
            for one in client.updates
            if one["update"]["sessionUpdate"] == "usage_update"
        ][-1:]
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
