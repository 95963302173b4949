"""`NORTH_TIMING`: how long the stages of the start take, and what blocks the event loop, in North's log."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import anyio

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.storage.switches import is_on

VARIABLE = "NORTH_TIMING"
_STEP = 0.05
_LONG = 0.05


def is_wanted(environ: Mapping[str, str]) -> bool:
    return is_on(environ, VARIABLE)


class StartTimes:
    """Logs when stages were reached, in milliseconds since the process was started."""

    def __init__(self, diagnostics: Diagnostics, environ: Mapping[str, str]) -> None:
        self._diagnostics = diagnostics
        self._is_wanted = is_wanted(environ)

    def reached(self, stage: str) -> None:
        if self._is_wanted:
            self._diagnostics.event("timing", stage=stage, ms=_since_start())


async def watch_loop(diagnostics: Diagnostics) -> None:
    """Log, at level `debug`, whenever the event loop was blocked for more than 50 milliseconds. Runs until
    cancelled."""
    while True:
        before = time.monotonic()
        await anyio.sleep(_STEP)
        late = time.monotonic() - before - _STEP
        if late > _LONG:
            diagnostics.debug("loop_blocked", ms=round(late * 1000))


def _since_start() -> int | None:
    if sys.platform != "linux":
        return None
    with suppress(OSError, ValueError, IndexError, AttributeError):
        fields = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        ticks = int(fields[19])
        return round((time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")) * 1000)
    return None
