"""What a cancelled turn does not wait for: a thread that hangs."""

import threading
from typing import Any, Literal

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.errors import ToolError
from north_lsp.server import core
from north_lsp.server.after_start import load_tools as load_shipped
from north_lsp.tools.base import Output
from north_lsp.tools.read.list_root import ListRoot, ListRootArgs
from north_lsp.tools.registry import Registry
from north_lsp.workspace.workspace import Workspace
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import answer, call, say

Note = Literal["left", "ended late"]


class StuckRoot(ListRoot):
    """As on a file system that does not answer."""

    begun, go_on = threading.Event(), threading.Event()

    async def run(self, args: ListRootArgs, workspace: Workspace) -> Output:
        def hang() -> None:
            self.begun.set()
            self.go_on.wait(20)

        await anyio.to_thread.run_sync(hang)
        return Output("Listing too late", {"entries": ["too late"]})


async def test_a_cancelled_turn_leaves_a_tool_that_hangs_behind(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, stuck = load_shipped(), StuckRoot()

    def load_tools(*_: Any) -> Registry:
        return Registry([stuck if tool.name == stuck.name else tool for tool in real.tools()], real.hidden)

    monkeypatch.setattr(core, "load_tools", load_tools)
    server.script(answer(say("I look."), call("list_root")))
    log = world.folder / "state" / "north.log"
    async with inside(world.environ) as client:
        new = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        session = {"sessionId": new["sessionId"]}
        prompt = {"prompt": [{"type": "text", "text": "Look"}], **session}
        asked = await client.start_request("session/prompt", prompt)
        await anyio.to_thread.run_sync(stuck.begun.wait, 10)
        await client.notify("session/cancel", session)
        assert (await client.answer(asked))["stopReason"] == "cancelled"
        assert not stuck.go_on.is_set()
        # Its place is not taken, and what it says later is heard by nobody.
        server.script(answer(say("Here I am.")))
        assert (await client.request("session/prompt", prompt))["stopReason"] == "end_turn"
        stuck.go_on.set()
        with anyio.fail_after(PATIENCE):
            while "ended late" not in log.read_text():
                await anyio.sleep(0.01)
        assert "too late" not in str(client.updates)
    sent = server.requests[-1].raw.decode()
    assert "too late" not in sent
    assert sent.count("cancelled by the user before it had a result") == 1
    results = [line for line in world.log_entries() if '"toolResult"' in line]
    assert len(results) == 1


async def test_results_and_errors_are_those_of_the_work() -> None:
    async def good() -> int:
        await anyio.lowlevel.checkpoint()
        return 7

    async def bad() -> int:
        raise ToolError("NOT_FOUND", "no such thing")

    notes: list[Note] = []
    async with anyio.create_task_group() as background:
        detached = AbandonedTasks(background)
        assert await detached.run(good, notes.append) == 7
        with pytest.raises(ToolError, match="no such thing"):
            await detached.run(bad, notes.append)
    assert notes == []


async def test_work_that_ends_when_it_is_cancelled_is_not_left_behind() -> None:
    notes: list[Note] = []
    async with anyio.create_task_group() as background:
        detached = AbandonedTasks(background)
        with anyio.move_on_after(0.01) as scope:
            await detached.run(anyio.sleep_forever, notes.append)
        assert scope.cancelled_caught
        assert (detached.count, notes) == (0, [])


async def test_what_is_left_behind_is_counted_until_it_ends() -> None:
    go_on, notes = threading.Event(), list[Note]()
    async with anyio.create_task_group() as background:
        detached = AbandonedTasks(background, grace=0.01)
        with anyio.move_on_after(0.01):
            await detached.run(lambda: anyio.to_thread.run_sync(go_on.wait, 20), notes.append)
        assert (detached.count, notes) == (1, ["left"])
        go_on.set()
    assert (detached.count, notes) == (0, ["left", "ended late"])
