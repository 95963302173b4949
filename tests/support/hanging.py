"""A test that hangs tells where each of its tasks waits, before it is ended (`faulthandler_timeout`), which shows where
the threads are alone."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

_SECONDS = 240.0


def _waits(task: "asyncio.Task[object]") -> Iterator[str]:
    """Yield the places through which a task waits, the outermost first."""
    waited: object = task.get_coro()
    while waited is not None:
        frames = (getattr(waited, name, None) for name in ("cr_frame", "gi_frame", "ag_frame"))
        if frame := next((one for one in frames if one is not None), None):
            yield f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
        inner = (getattr(waited, name, None) for name in ("cr_await", "gi_yieldfrom", "ag_await"))
        waited = next((one for one in inner if one is not None), None)


def tasks_of(loop: asyncio.AbstractEventLoop) -> str:
    """Describe all tasks of a loop."""
    return "\n\n".join("\n  ".join([task.get_name(), *_waits(task)]) for task in asyncio.all_tasks(loop))


@contextmanager
def watched(item: pytest.Item, seconds: float = _SECONDS) -> Iterator[None]:
    """Tell where the tasks of a test are if it takes longer than `seconds`."""
    capturing = item.config.pluginmanager.getplugin("capturemanager")

    def tell(number: int, frame: FrameType | None) -> None:
        try:
            told = tasks_of(asyncio.get_running_loop())
        except RuntimeError:
            told = "no loop runs"
        with capturing.global_and_fixture_disabled():
            sys.stderr.write(f"\n{item.nodeid} has not ended after {seconds:.0f} seconds:\n{told}\n")
            sys.stderr.flush()

    if not hasattr(signal, "SIGALRM"):  # Windows
        yield
        return
    before = signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
