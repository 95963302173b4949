"""Merging of text deltas: how often text is shown, and that a slow reader slows whoever writes."""

import anyio

from north_lsp.agent.ports.events import AnswerDelta, Event, ThoughtDelta
from north_lsp.agent.turn.deltas import DeltaMerger


async def test_text_is_gathered_for_the_time_that_the_user_set() -> None:
    shown: list[Event] = []

    async def show(event: Event) -> None:
        shown.append(event)

    merger = DeltaMerger("m", show, seconds=60)
    for number in range(100):
        await merger.add(str(number % 10), thinking=False)
    assert [event.text for event in shown if isinstance(event, AnswerDelta)] == ["0"]  # the first is shown at once
    await merger.add("hm", thinking=True)  # another kind shows what came before it
    await merger.flush()
    assert len(shown) == 3
    assert isinstance(shown[2], ThoughtDelta)
    assert "".join(event.text for event in shown if isinstance(event, AnswerDelta)) == "0123456789" * 10


async def test_a_reader_that_does_not_read_stops_the_writer_and_loses_nothing() -> None:
    shown: list[str] = []
    reading = anyio.Event()
    written = 0

    async def show(event: Event) -> None:
        await reading.wait()
        assert isinstance(event, AnswerDelta)
        shown.append(event.text)

    merger = DeltaMerger("m", show, seconds=60)

    async def write() -> None:
        nonlocal written
        for _ in range(1000):
            await merger.add("x" * 1000, thinking=False)
            written += 1
        await merger.flush()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        assert written == 0  # the first piece waits for the reader, and no more is taken
        reading.set()
    assert "".join(shown) == "x" * 1_000_000
    assert max(map(len, shown)) <= 64 * 1024 + 1000
