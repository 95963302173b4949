"""Read-only work on a thread: the caller can be cancelled at once, and the thread ends when it can."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio.to_thread

Ts = TypeVarTuple("Ts")
T = TypeVar("T")


async def on_thread(work: Callable[[*Ts], T], *args: *Ts) -> T:
    """Return what `work` returns. It must change nothing but what it makes itself: after a cancel nobody waits for
    it."""
    return await anyio.to_thread.run_sync(work, *args, abandon_on_cancel=True)


async def stoppable(work: Callable[[Callable[[], bool]], T]) -> T:
    """Run work as `on_thread` does; `work` gets a function that tells, in long loops, whether it is no longer
    wanted."""
    stopped = threading.Event()
    try:
        return await on_thread(work, stopped.is_set)
    finally:
        stopped.set()
