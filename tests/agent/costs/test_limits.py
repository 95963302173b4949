"""What becomes of several requests at once that reach a limit."""

from typing import cast

import anyio
import pytest

from north_lsp.agent.costs.limits import LimitReached, Spending
from north_lsp.agent.ports.editor import Choice, Editor


class Asked:
    """An editor that answers each question in the same way, once it is let."""

    has_user = True

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.questions = 0
        self.go = anyio.Event()

    async def choose(self, choice: Choice) -> str | None:
        self.questions += 1
        await self.go.wait()
        return self.answer


async def nothing() -> float:
    return 0.0


@pytest.mark.parametrize(("answer", "ended"), [("end", 3), ("continue", 0), ("raise", 0)])
async def test_one_of_several_requests_asks_for_all(answer: str, ended: int) -> None:
    editor = Asked(answer)
    spending = Spending(cast(Editor, editor), 1.0, 0.0, nothing)
    found: list[LimitReached] = []

    async def check() -> None:
        try:
            await spending.check(lambda: 1.5)
        except LimitReached as error:
            found.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(check)
        await anyio.wait_all_tasks_blocked()
        editor.go.set()
    assert (editor.questions, len(found)) == (1, ended)
    spending.begin_turn()
    await check()
    assert editor.questions == (1 if answer == "raise" else 2)


async def test_a_limit_that_is_raised_in_the_settings_counts_at_once() -> None:
    editor = Asked("end")
    editor.go.set()
    spending = Spending(cast(Editor, editor), 1.0, 0.0, nothing)
    with pytest.raises(LimitReached):
        await spending.check(lambda: 1.5)
    spending.set_limits(10.0, 0.0)
    await spending.check(lambda: 1.5)
    assert editor.questions == 1
