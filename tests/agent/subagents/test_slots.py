"""How many agents work at once."""

import anyio

from north_lsp.agent.subagents.slots import Slots


async def test_who_waits_for_its_own_agents_lends_its_slot() -> None:
    slots, log = Slots(), list[str]()

    async def inner(name: str) -> None:
        async with slots.one():
            log.append(name)

    async with slots.one() as slot, slot.lent(), anyio.create_task_group() as tasks:
        tasks.start_soon(inner, "a")
        tasks.start_soon(inner, "b")
    assert sorted(log) == ["a", "b"]
    async with slots.one():  # all is free again
        pass


async def test_a_cancelled_one_leaves_no_slot_taken() -> None:
    slots, inside = Slots(), anyio.Event()

    async def hold() -> None:
        async with slots.one() as slot, slot.lent():
            inside.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await inside.wait()
        async with slots.one():  # taken back can it not be while it is held here
            tasks.cancel_scope.cancel()
    async with slots.one():
        pass
