"""Agents as child sessions of the draft, for clients that announced them."""

from typing import Any

import pytest

from tests.end_to_end.test_agents import submit, task, tasks
from tests.end_to_end.test_faults import opened, prompt
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Fail, Say, answer


def children(client: RawAcpClient) -> list[dict[str, Any]]:
    updates = [params["update"] for params in client.updates]
    return [update for update in updates if update["sessionUpdate"] == "subagent_update"]


async def test_a_child_is_announced_and_its_states_are_told(world: World, server: ModelServer) -> None:
    server.script(
        tasks(task("task", "Look", id="find", description="Looks for it")),
        submit("Here."),
        answer(Say("It is there.")),
    )
    async with inside(world.environ, capabilities={"subagents": {}}) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Find it") == "end_turn"
        live = children(client)
        assert live[0]["title"] == "task 0-find"
        assert {child["sessionId"] for child in live} == {f"{session}/0-find"}
        assert [child["state"] for child in live if "state" in child] == [
            {"state": "running"},
            {"state": "idle", "stopReason": "end_turn"},
        ]
        client.updates.clear()
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        (replayed,) = children(client)
        assert replayed["state"] == {"state": "idle", "stopReason": "end_turn"}


async def test_a_child_that_fails_says_so(world: World, server: ModelServer) -> None:
    refused = answer(Fail(400, "invalid_request_error", "no"))
    server.script(tasks(task("task", "Look", id="find")), refused, answer(Say("Well.")))
    async with inside(world.environ, capabilities={"subagents": {}}) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Find it") == "end_turn"
        last = children(client)[-1]["state"]
        assert (last["stopReason"], last["error"]["message"]) == ("error", "the agent failed")


@pytest.mark.parametrize("announced", [{}, {"subagents": True}, {"subagents": None}])
async def test_other_clients_are_told_nothing_of_children(
    world: World, server: ModelServer, announced: dict[str, object]
) -> None:
    server.script(tasks(task("task", "Look")), submit("Here."), answer(Say("It is there.")))
    async with inside(world.environ, capabilities=announced) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Find it") == "end_turn"
        assert not children(client)
