"""Work that only looks, on a thread: whoever waits for it can be cancelled at once, and the thread ends when it can."""

import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio.to_thread

Ts = TypeVarTuple("Ts")
T = TypeVar("T")


async def on_thread(work: Callable[[*Ts], T], *args: *Ts) -> T:
    """What `work` gives. It must change nothing but what it makes itself: after a cancel nobody waits for it."""
    return await anyio.to_thread.run_sync(work, *args, abandon_on_cancel=True)


async def stoppable(work: Callable[[Callable[[], bool]], T]) -> T:
    """As `on_thread`; `work` is given a function that says whether it is not wanted any more, for long loops."""
    stopped = threading.Event()
    try:
        return await on_thread(work, stopped.is_set)
    finally:
        stopped.set()
