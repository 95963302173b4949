"""Work that a cancelled turn does not wait for indefinitely: a thread that hangs (on a dead file system) cannot be
stopped, so it is abandoned and its result is dropped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, Literal, TypeVar

import anyio

from north_lsp.background import Background
from north_lsp.lazy_dataclass import dataclass

_GRACE_SECONDS = 1.5
T = TypeVar("T")


@dataclass
class _Outcome(Generic[T]):
    value: T | None = None
    error: Exception | None = None
    left: bool = False


class AbandonedTasks:
    """Owns the work that one process has abandoned; `count` is how much of it still runs. `background` outlives the
    turns."""

    def __init__(self, background: Background, grace: float = _GRACE_SECONDS) -> None:
        self._background = background
        self._grace = grace
        self.count = 0

    async def run(
        self,
        work: Callable[[], Awaitable[T]],
        note: Callable[[Literal["left", "ended late"]], None],
        grace: float | None = None,
    ) -> T:
        """Return the result of `work`, or raise its exception. When the caller is cancelled, `work` is cancelled, too,
        and abandoned if it does not end within the grace period; `note` is told when it is left and when it ends."""
        outcome: _Outcome[T] = _Outcome()
        done, scope = anyio.Event(), anyio.CancelScope()

        async def run() -> None:
            try:
                with scope:
                    outcome.value = await work()
            except Exception as error:  # noqa: BLE001 - it is raised in the caller
                outcome.error = error
            finally:
                done.set()
                if outcome.left:
                    self.count -= 1
                    note("ended late")

        self._background.start_soon(run)
        try:
            await done.wait()
        except anyio.get_cancelled_exc_class():
            scope.cancel()
            with anyio.move_on_after(self._grace if grace is None else grace, shield=True):
                await done.wait()
            if not done.is_set():
                outcome.left = True
                self.count += 1
                note("left")
            raise
        if outcome.error is not None:
            raise outcome.error
        return outcome.value  # type: ignore[return-value]  # None only where T is, or the process ends
