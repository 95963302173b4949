"""Limits how many sessions have shells at once, and how long shells may stay unused."""

from __future__ import annotations

import time
from typing import Protocol

import anyio

from north_lsp.background import Background

MAX_OPEN = 8
IDLE_SECONDS = 3600.0
_SWEEP_SECONDS = 30.0


class PooledShell(Protocol):
    """One session's shells."""

    @property
    def last_used(self) -> float: ...

    def is_open(self) -> bool: ...

    def is_busy(self) -> bool: ...

    async def close_idle(self, why: str) -> None: ...


class ShellPool:
    """Closes the shells of sessions that do not use them; a busy one is never closed. `background` owns the waiting."""

    def __init__(self, background: Background, idle: float = IDLE_SECONDS, sweep: float = _SWEEP_SECONDS) -> None:
        self._background = background
        self._idle = idle
        self._sweep = sweep
        self._known: list[PooledShell] = []
        self._watching = False

    async def admit(self, new: PooledShell) -> None:
        """Make room for the shells of `new` by closing those that were unused the longest, and watch `new`."""
        self._known = [one for one in self._known if _matters(one) and one is not new]
        quiet = sorted((one for one in self._known if not one.is_busy()), key=lambda one: one.last_used)
        for oldest in quiet[: max(0, len(self._known) + 1 - MAX_OPEN)]:
            self._known.remove(oldest)
            await oldest.close_idle(f"the shell was closed because {MAX_OPEN} others were in use")
        self.register(new)

    def register(self, new: PooledShell) -> None:
        """Watch the shells of `new` from now on."""
        self._known = [*(one for one in self._known if one is not new), new]
        if not self._watching:
            self._watching = True
            self._background.start_soon(self._watch)

    async def _watch(self) -> None:
        try:
            while self._known:
                await anyio.sleep(self._sweep)
                for one in list(self._known):
                    if one not in self._known:  # removed while another one was closed
                        continue
                    if not _matters(one):
                        self._known.remove(one)
                    elif not one.is_busy() and time.monotonic() - one.last_used > self._idle:
                        self._known.remove(one)
                        await one.close_idle(
                            f"the shell was closed after {self._idle / 60:g} minutes without a command"
                        )
        finally:
            self._watching = False


def _matters(one: PooledShell) -> bool:
    """Return whether a session counts: it has a shell, or is busy, which without a shell means that it is starting
    one."""
    return one.is_open() or one.is_busy()
