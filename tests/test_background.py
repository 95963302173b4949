"""Tasks beside the turns."""

import anyio

from north_lsp.background import guarded_tasks


async def test_a_task_that_fails_takes_nothing_with_it() -> None:
    told: list[str] = []
    done: list[str] = []

    async def fails() -> None:
        raise RuntimeError("no")

    async def works(name: str) -> None:
        await anyio.lowlevel.checkpoint()
        done.append(name)

    async with guarded_tasks(lambda where, error: told.append(f"{where.rpartition('.')[2]}: {error}")) as background:
        background.start_soon(fails)
        background.start_soon(works, "first")
        background.start_soon(works, "second")
    assert told == ["fails: no"]
    assert done == ["first", "second"]


async def test_cancelling_ends_them_all() -> None:
    async with guarded_tasks(lambda where, error: None) as background:
        background.start_soon(anyio.sleep_forever)
        background.cancel()
