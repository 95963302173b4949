"""Tracks the calls of a turn that have no result in the log yet: the one place that makes sure each gets exactly
one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import anyio

from north_lsp.agent.calls.titles import Titles
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import result_shown
from north_lsp.agent.log.results import ResultDetails, ResultEntry
from north_lsp.agent.log.seen import seen_of
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.errors import ToolError
from north_lsp.providers.base import Image, Text, ToolCall
from north_lsp.storage.entries import now_ms
from north_lsp.workspace.seen import Noted, noting

_CANCELLED = ToolError("CANCELLED", "cancelled by the user before it had a result")
_STOPPED = ToolError(
    "CANCELLED", "the user stopped this call before it had a result", "continue without it, or ask what is wanted"
)


class OpenCalls:
    """The open calls of one turn. Results are stored and shown in the order of the calls, in whatever order they
    arrive."""

    def __init__(self, log: Log, ports: Ports, titles: Titles) -> None:
        self.titles = titles
        self._log = log
        self._ports = ports
        self._open: dict[str, ToolCall] = {}
        self._results: dict[str, Result] = {}
        self._noted: dict[str, Noted] = {}
        self._finishing = anyio.Lock()

    def begin(self, calls: Sequence[ToolCall]) -> None:
        """Register calls as open; they are in the log now, in an answer that was just stored."""
        self._open |= {call.id: call for call in calls}

    def keep(self, call_id: str, result: Result) -> None:
        """Hold a call's result, to be stored even if the turn is cancelled at this moment."""
        self._results[call_id] = result

    def fail(self, calls: Sequence[ToolCall], error: ToolError) -> None:
        """Give all of these calls the same error as their result; none of them is run."""
        for call in calls:
            self._results[call.id] = self.titles.failure(call, error)

    def stopped(self, call: ToolCall) -> Result:
        """Return the result of a call that the user has stopped: what it has kept by then, or that it was."""
        kept = self.kept(call.id)
        return kept if kept is not None else self.titles.failure(call, _STOPPED)

    def kept(self, call_id: str) -> Result | None:
        """Return the result that is held for a call; None if there is none."""
        return self._results.get(call_id)

    @contextmanager
    def noting(self, call: ToolCall) -> Iterator[None]:
        """Store what the tools show of files in this context with this call's result."""
        with noting(self._noted.setdefault(call.id, {})):
            yield

    async def finish(self) -> None:
        """Store and show results, in the order of the calls, up to the first call that has none yet."""
        async with self._finishing:
            while self._open and (result := self._results.get(next(iter(self._open)))) is not None:
                call = self._open[next(iter(self._open))]
                with anyio.CancelScope(shield=True):  # what is stored is also shown, even if just cancelled
                    await self._show(*self._stored(call, result))

    async def finish_standalone(self, call: ToolCall, result: Result, *, refused: bool) -> None:
        """Store and show the result of something that is not a call of an answer; a `refused` one is not shown."""
        with anyio.CancelScope(shield=True):
            await self._show(self._store(call, result, refused=refused), result)

    async def close(self) -> None:
        """End all calls after the turn, however it ended: a result that exists is kept, every other call gets one that
        says so."""
        self.fail([call for call in self._open.values() if call.id not in self._results], _CANCELLED)
        await self.finish()

    async def _show(self, entry: ResultEntry, result: Result) -> None:
        for event in result_shown(entry, result.ended.files):
            await self._ports.show(event)

    def _stored(self, call: ToolCall, result: Result) -> tuple[ResultEntry, Result]:
        """Write a call's result to the log, or an error result if it cannot be written; return what was written."""
        try:
            return self._store(call, result), result
        except Exception as error:  # noqa: BLE001 - every call must get a result
            self._ports.on_failure(f"storing the result of {call.name}", error)
        instead = self.titles.failure(call, ToolError("INTERNAL", f"the result of {call.name} could not be stored"))
        return self._store(call, instead), instead

    def _store(self, call: ToolCall, result: Result, *, refused: bool = False) -> ResultEntry:
        """Write a call's result to the log and mark the call as done."""
        ended = result.ended
        noted = self._noted.pop(call.id, None)
        noted = noted if noted is not None else self.titles.context.workspace.seen.drain()
        details = ResultDetails(
            ended.title,
            ended.text,
            ended.ok,
            bool(ended.files),
            refused,
            ended.locations or self.titles.places(call),  # the ones shown when the call began
            ended.truncation,
            () if result.is_error else seen_of(noted),
            result.details,
        )
        content: Content[Text | Image] = Content((Text(result.text), *result.images))
        entry = ResultEntry(call.id, call.name, content, details, result.is_error, now_ms())
        self._log.append(entry)
        self._open.pop(call.id, None)
        self._results.pop(call.id, None)
        return entry
