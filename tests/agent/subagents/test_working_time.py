"""What counts as an agent's working time, and what does not."""

import math
from typing import cast

import anyio

from north_lsp.agent.log.log import Log
from north_lsp.agent.ports.editor import Choice, Editor
from north_lsp.agent.subagents.agent_editor import AgentEditor, Names
from north_lsp.agent.subagents.progress import Progress
from north_lsp.agent.subagents.working_time import WorkingTime


async def test_no_time_passes_while_the_user_is_asked() -> None:
    deadlines: list[float] = []

    class Asked:
        async def choose(self, choice: Choice) -> str | None:
            deadlines.extend(one.deadline for one in limits)
            return "a"

    async def changed() -> None:
        pass

    limits = [anyio.CancelScope(deadline=anyio.current_time() + 100) for _ in range(2)]
    asker = WorkingTime(limits[0])
    time = WorkingTime(limits[1], asker)
    before = [one.deadline for one in limits]
    lock = anyio.Lock()
    names, progress = Names("0-a", "a"), Progress("0-a", "a")
    editor = AgentEditor(cast(Editor, Asked()), names, progress, changed, lock, time, cast(Log, None))
    async with lock, anyio.create_task_group() as tasks:
        tasks.start_soon(editor.choose, Choice("1", "Which?", ()))
        await anyio.wait_all_tasks_blocked()
        assert [one.deadline for one in limits] == [math.inf] * 2  # in line
        lock.release()
        await anyio.wait_all_tasks_blocked()
        await lock.acquire()
    assert deadlines == [math.inf] * 2
    assert all(was <= one.deadline < math.inf for was, one in zip(before, limits, strict=True))


async def test_time_passes_again_when_the_last_question_is_over() -> None:
    limit = anyio.CancelScope(deadline=anyio.current_time() + 100)
    time = WorkingTime(limit)
    with time.stopped():
        with time.stopped():
            pass
        assert limit.deadline == math.inf
    assert limit.deadline < math.inf
