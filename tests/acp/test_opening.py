"""What is asked of a session while it is being opened."""

from typing import Any

import anyio
import pytest

from north_lsp.acp.opening import Openings
from tests.acp.test_v2 import agent, idle, prompt, said, updates
from tests.end_to_end.world import World
from tests.support.client import RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import answer, gate, say


async def test_a_prompt_is_cancelled_at_once_and_one_after_it_waits_on() -> None:
    openings, told = Openings(), list[tuple[str, bool]]()

    async def ask(name: str, method: str) -> None:
        told.append((name, await openings.wait(method, "s")))

    async with anyio.create_task_group() as tasks:
        with openings.under_way("s"), openings.under_way("s"):
            tasks.start_soon(ask, "first", "session/prompt")
            tasks.start_soon(ask, "mode", "session/set_mode")
            await anyio.wait_all_tasks_blocked()
            openings.cancel("s")
            openings.cancel("another")
            await anyio.wait_all_tasks_blocked()
            assert told == [("first", True)]
            tasks.start_soon(ask, "second", "session/prompt")
            await anyio.wait_all_tasks_blocked()
            assert told == [("first", True)]
    assert sorted(told[1:]) == [("mode", False), ("second", False)]


@pytest.mark.parametrize("method", ["session/new", "session/close", "session/delete", "_north/models/list"])
async def test_what_needs_no_open_session_does_not_wait(method: str) -> None:
    openings = Openings()
    with openings.under_way("s"), anyio.fail_after(60):
        assert not await openings.wait(method, "s")
        assert not await openings.wait("session/prompt", "another")
        assert not await openings.wait("session/prompt", ["odd"])


@pytest.mark.parametrize("withdraw", ["session/cancel", "$/cancel_request"])
async def test_a_prompt_that_is_withdrawn_during_the_loading_never_runs(
    world: World, server: ModelServer, withdraw: str
) -> None:
    server.script(answer(say("first")), answer(gate("go"), say("second")))
    async with agent(world) as client:
        session = (await client.request("session/new", {"cwd": str(world.project)}))["sessionId"]
        await prompt(client, session, "Hello")
        await idle(client)
    async with agent(world) as client:
        where: dict[str, Any] = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        loading = await client.start_request("session/resume", {**where, "replayFrom": {"type": "start"}})
        words = [{"type": "text", "text": "Never"}]
        prompting = await client.start_request("session/prompt", {"sessionId": session, "prompt": words})
        told = {"sessionId": session} if withdraw == "session/cancel" else {"requestId": prompting}
        await client.notify(withdraw, told)
        with pytest.raises(RpcFailure) as failure:
            await client.answer(prompting)
        assert failure.value.code == -32800
        await client.answer(loading)
        server.open("go")
        await prompt(client, session, "Go on")
        await client.wait(lambda _: "second" in said(client))
        assert "Never" not in str(updates(client))
    assert len(server.requests) == 2
