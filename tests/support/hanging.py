"""A test that hangs tells where each of its tasks waits, before its process is ended, which shows where the threads are
alone."""

import asyncio
import faulthandler
import math
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

_SECONDS = 240.0
_SHARED_PART = 0.1


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


class Ending:
    """Ends this process `seconds` after a test began that does not end, or up to a tenth of that earlier; never for 0.

    The option of pytest does the same with a thread for each test, which took a fifth of the time between tests. Here,
    tests that follow each other closely share one."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = -math.inf
        self._told = os.dup(2)  # the real one, whatever a test's output is captured in

    def test_begins(self) -> None:
        now = time.monotonic()
        if self._seconds and self._ends - now < self._seconds * (1 - _SHARED_PART):
            faulthandler.dump_traceback_later(self._seconds, exit=True, file=self._told)
            self._ends = now + self._seconds

    def was_called_off(self) -> None:
        """Begin anew with the next test: pytest calls it off when a test fails or a debugger is entered."""
        self._ends = -math.inf

    def close(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._told)
