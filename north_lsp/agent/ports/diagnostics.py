"""Writes a session's events to North's log. Lengths, names and durations, never contents."""

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from north_lsp.providers.base import ToolCall
from north_lsp.storage.diagnostics_log import DiagnosticsLog


@dataclass
class Outcome:
    ok: bool = False


@dataclass(frozen=True)
class Diagnostics:
    """The log, bound to one session (or none)."""

    log: DiagnosticsLog
    session_id: str | None = None
    _troubles: list[str] = field(default_factory=list)

    def event(self, name: str, **data: object) -> None:
        self.log.event("info", name, **self._bound(data))

    def warning(self, name: str, **data: object) -> None:
        self.log.event("warn", name, **self._bound(data))

    def debug(self, name: str, **data: object) -> None:
        """Log something that may have contents: only written if the user has set the level to `debug`."""
        self.log.event("debug", name, **self._bound(data))

    def failure(self, where: str, error: BaseException) -> None:
        """Log an unexpected exception: the only place where its text and its stack are written."""
        stack = "".join(traceback.format_exception(error))
        self.log.event("error", "crash", **self._bound({"where": where, "error": type(error).__name__, "stack": stack}))

    @contextmanager
    def guarded(self, where: str) -> Iterator[None]:
        """Run a step that the turn can do without: an exception in it goes to the log, and the user is told once what
        failed. Errors that the caller handles must be caught inside."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the frame around what must not end a turn
            self.failure(where, error)
            self.trouble(where)

    def trouble(self, what: str) -> None:
        """Note what failed, to be told to the user."""
        if what not in self._troubles:
            self._troubles.append(what)

    def take_trouble(self) -> str | None:
        """Return what the user should be told of failures inside North, once."""
        if not self._troubles:
            return None
        what = ", ".join(self._troubles)
        self._troubles.clear()
        return (
            f"something failed inside North ({what}); nothing else is affected, and the details are in {self.log.path}"
        )

    @contextmanager
    def timed_tool(self, call: ToolCall) -> Iterator[Outcome]:
        self.event("tool_call_start", toolName=call.name, callId=call.id)
        started = time.monotonic()
        outcome = Outcome()
        try:
            yield outcome
        finally:
            duration = round((time.monotonic() - started) * 1000)
            self.event("tool_call_complete", toolName=call.name, callId=call.id, durationMs=duration, ok=outcome.ok)

    def _bound(self, data: dict[str, object]) -> dict[str, object]:
        return data if self.session_id is None else {"sessionId": self.session_id, **data}
