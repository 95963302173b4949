"""The end of a connection: why it ends, and a limit for how long that may take.

What was said and done is on the disk before anything here begins, so a process that is cut loses nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from north_lsp.agent.ports.diagnostics import Diagnostics

LONGEST_SECONDS = 8.0
_LAST_SECONDS = 1.0
_LOG_SECONDS = 0.5


class Ending:
    """The end of one connection. With `exit` (`os._exit`) the process ends with the connection: whatever still hangs
    when the time is over, in a thread or on the event loop, ends with it. `step` is what is under way."""

    def __init__(self, exit: Callable[[int], object] | None = None) -> None:
        self.step = "sessions"
        self._exit = exit
        self._diagnostics: Diagnostics | None = None
        self._started = self._began = time.monotonic()
        self._reason = "failed"
        self._code = 0
        self._timer: threading.Timer | None = None

    def connected(self, diagnostics: Diagnostics) -> None:
        """Tell `diagnostics` from now on."""
        self._diagnostics, self._started = diagnostics, time.monotonic()

    def begin(self, reason: str, code: int) -> None:
        """Let the time run; `code` is the process's exit code if it is cut."""
        self._reason, self._code, self._began = reason, code, time.monotonic()
        self._cut_after(LONGEST_SECONDS - _LOG_SECONDS)

    def hurry(self) -> None:
        """Leave a second for the rest: there is nothing to wait for but a thread that hangs."""
        self._cut_after(_LAST_SECONDS)

    def log_exit(self) -> None:
        """Log the end of the connection, and nothing after it."""
        if (diagnostics := self._diagnostics) is not None:
            diagnostics.event("app_exit", reason=self._reason, durationMs=_passed(self._started))
            diagnostics.log.close()

    def _cut_after(self, seconds: float) -> None:
        if self._exit is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(max(seconds, 0), self._cut, (self._exit,))
        self._timer.daemon = True
        self._timer.start()

    def _cut(self, exit: Callable[[int], object]) -> None:
        if (diagnostics := self._diagnostics) is not None:
            diagnostics.warning("shutdown_cut", step=self.step, afterMs=_passed(self._began))
            diagnostics.log.close(_LOG_SECONDS)
        exit(self._code)


def _passed(since: float) -> int:
    return round((time.monotonic() - since) * 1000)
