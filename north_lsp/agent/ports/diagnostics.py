"""Writes a session's events to North's log. Lengths, names and durations, never contents."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from north_lsp import __version__
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.storage.diagnostics_log import DiagnosticsLog

_NAMES = frozenset(
    {"path", "paths", "to", "cwd", "root", "kind", "format", "mode", "action", "language", "id", "jobId", "operation"}
)
_LONGEST_NAME = 80

Hide = Callable[[str], str]
"""Takes secrets out of a text."""


@dataclass
class Outcome:
    """Collects the outcome of a timed operation; `code` is that of its error, and `data` what else is known at its
    end."""

    ok: bool = False
    code: str | None = None
    truncated: bool = False
    data: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Diagnostics:
    """The log, bound to one session (or none). `hide` takes its secrets out of texts that may have contents."""

    log: DiagnosticsLog
    session_id: str | None = None
    hide: Hide = str
    _troubles: list[str] = field(default_factory=list)
    _turns: list[int] = field(default_factory=lambda: [0])

    def begin_turn(self) -> None:
        """Count a turn: what is logged from now on belongs to it."""
        self._turns[0] += 1

    def event(self, name: str, /, **data: object) -> None:
        self.log.event("info", name, **self._bound(data))

    def warning(self, name: str, /, **data: object) -> None:
        self.log.event("warn", name, **self._bound(data))

    def debug(self, name: str, /, **data: object) -> None:
        """Log something that may have contents: only written if the user has set the level to `debug`."""
        hidden = {key: self.hide(value) if isinstance(value, str) else value for key, value in data.items()}
        self.log.event("debug", name, **self._bound(hidden))

    def trace(self, name: str, /, texts: Callable[[Hide], Mapping[str, str]], **data: object) -> None:
        """Log whole texts: only written if `NORTH_LOG_LEVEL` is `trace`, and only made if somebody gets them. `texts`
        takes the secrets out of each before it puts several together."""
        if self.log.takes_texts:
            self.log.event("trace", name, **self._bound({**data, **texts(self.hide)}))

    def failure(self, where: str, error: BaseException) -> None:
        """Log an unexpected exception. Its text and its stack, which may have contents, go to a file of its own."""
        stack = self.hide("".join(traceback.format_exception(error)))
        file = self.log.report_crash(f"North {__version__}, Python {sys.version.split()[0]}, {where}\n\n{stack}")
        self.log.event("error", "crash", **self._bound({"where": where, "error": type(error).__name__, "file": file}))

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
    def measured(self, name: str, /, **data: object) -> Iterator[Outcome]:
        """Log an event at the end of what is done meanwhile: how long it took, and whether it was `ok`."""
        started, outcome = time.monotonic(), Outcome()
        try:
            yield outcome
        finally:
            self.event(name, **data, durationMs=round((time.monotonic() - started) * 1000), ok=outcome.ok)

    @contextmanager
    def timed_tool(self, call: ToolCall) -> Iterator[Outcome]:
        summary = args_summary(call.arguments)
        with self.timed("tool_call_start", toolName=call.name, callId=call.id, argsSummary=summary) as outcome:
            yield outcome

    @contextmanager
    def timed(self, start: str, /, **data: object) -> Iterator[Outcome]:
        """Log the event `start` (`…_start`), and at the end `…_complete` with how long it took and how it ended. Both
        have the ids and names in `data`, the start has the rest, too."""
        self.event(start, **data)
        complete = start.removesuffix("_start") + "_complete"
        named = {key: value for key, value in data.items() if isinstance(value, str)}
        started = time.monotonic()
        outcome = Outcome()
        try:
            yield outcome
        except ToolError as error:
            outcome.code = error.code
            raise
        finally:
            ended: dict[str, object] = {"durationMs": round((time.monotonic() - started) * 1000), "ok": outcome.ok}
            ended |= {"errorCode": outcome.code} if outcome.code is not None else {}
            ended |= {"truncated": True} if outcome.truncated else {}
            self.event(complete, **named, **ended, **outcome.data)

    def _bound(self, data: dict[str, object]) -> dict[str, object]:
        if self.session_id is None:
            return data
        turn = {"turn": self._turns[0]} if self._turns[0] else {}
        return {"sessionId": self.session_id, **turn, **data}


def args_summary(arguments: Mapping[str, object]) -> dict[str, object]:
    """Return a call's arguments without contents: numbers, switches and short names; of other texts their length."""
    return {key: _summary(key, value) for key, value in arguments.items()}


def _summary(key: str, value: object) -> object:
    match value:
        case None | bool() | int() | float():
            return value
        case str() if key in _NAMES and "\n" not in value:
            return value if len(value) <= _LONGEST_NAME else value[: _LONGEST_NAME - 1] + "…"
        case str():
            return f"<{len(value)} chars>"
        case list():
            return f"<{len(value)} items>"
        case _:
            return f"<{type(value).__name__}>"
