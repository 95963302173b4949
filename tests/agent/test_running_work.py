"""What runs in a session: everybody who waits for its end hears of it."""

from typing import Any, cast

import anyio
import anyio.lowlevel

from north_lsp.agent.session.running_work import RunningWork
from tests.support.patience import PATIENCE


async def nothing() -> None: ...


async def test_all_who_wait_for_the_end_hear_of_it() -> None:
    work = RunningWork(cast(Any, None), nothing)
    heard: list[str] = []

    async def wait(name: str) -> None:
        await work.ended()
        heard.append(name)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            with work.within(anyio.CancelScope()):
                with work.within(anyio.CancelScope()):
                    tasks.start_soon(wait, "first")
                    tasks.start_soon(wait, "second")
                    await anyio.wait_all_tasks_blocked()
                await anyio.wait_all_tasks_blocked()
                assert heard == []
    assert sorted(heard) == ["first", "second"]
    assert not work.is_running


async def test_a_cancel_ends_what_runs_and_nothing_else() -> None:
    work = RunningWork(cast(Any, None), nothing)
    with work.within(anyio.CancelScope()) as scope:
        assert work.is_running
        work.cancel()
        await anyio.sleep_forever()
    assert scope.cancelled_caught
    with work.within(anyio.CancelScope()) as scope:
        await anyio.lowlevel.checkpoint()
    assert not scope.cancel_called
