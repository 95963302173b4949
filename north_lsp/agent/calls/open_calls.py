"""The calls of a turn that have no result in the log yet: the one place that sees to it that each gets exactly one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import anyio

from north_lsp.agent.calls.titles import Titles
from north_lsp.agent.log.remembering import noted_to_log
from north_lsp.agent.ports.ports import Ports
from north_lsp.agent.ports.results import Result
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import now_ms
from north_lsp.tools.base import Noted, noting


class OpenCalls:
    """Of one turn. Results are stored and shown in the order of the calls, whichever comes first."""

    def __init__(self, conversation: Conversation, ports: Ports, titles: Titles) -> None:
        self.titles = titles
        self._conversation = conversation
        self._ports = ports
        self._open: dict[str, ToolCall] = {}
        self._results: dict[str, Result] = {}
        self._noted: dict[str, Noted] = {}
        self._finishing = anyio.Lock()

    def begin(self, calls: Sequence[ToolCall]) -> None:
        """These stand in the log now, in an answer that was just stored."""
        self._open |= {call.id: call for call in calls}

    def keep(self, call_id: str, result: Result) -> None:
        """A call's result, to be stored even if the turn is cancelled at this moment."""
        self._results[call_id] = result

    def fail(self, calls: Sequence[ToolCall], error: ToolError) -> None:
        """None of these is run."""
        for call in calls:
            self._results[call.id] = self.titles.failure(call, error)

    @contextmanager
    def noting(self, call: ToolCall) -> Iterator[None]:
        """What the tools show of files meanwhile is stored with this call's result."""
        with noting(self._noted.setdefault(call.id, {})):
            yield

    async def finish(self) -> None:
        """Store and then show results, as far as they are complete in the order of the calls."""
        async with self._finishing:
            while self._open and (result := self._results.get(next(iter(self._open)))) is not None:
                call = self._open[next(iter(self._open))]
                with anyio.CancelScope(shield=True):  # what is stored is shown, also when it is cancelled just now
                    await self._ports.show(self._stored(call, result).ended)

    async def settle(self, call: ToolCall, result: Result, details: Mapping[str, object]) -> None:
        """Store and show the result of something that is no call of an answer; `refused` ones are not shown."""
        with anyio.CancelScope(shield=True):
            self._store(call, result, details)
            if not details.get("refused"):
                await self._ports.show(result.ended)

    async def close(self) -> None:
        """After the turn's end, however it came: what has a result keeps it, every other call gets one that says so."""
        error = ToolError("CANCELLED", "cancelled by the user before it had a result")
        self.fail([call for call in self._open.values() if call.id not in self._results], error)
        await self.finish()

    def _stored(self, call: ToolCall, result: Result) -> Result:
        """Write a call's result to the log; one that cannot be written gives way to one that says so."""
        try:
            self._store(call, result, {})
            return result
        except Exception as error:  # noqa: BLE001 - every call has one result
            self._ports.on_failure(f"storing the result of {call.name}", error)
        instead = self.titles.failure(call, ToolError("INTERNAL", f"the result of {call.name} could not be stored"))
        self._store(call, instead, {})
        return instead

    def _store(self, call: ToolCall, result: Result, more: Mapping[str, object]) -> None:
        """Write a call's result to the log."""
        ended = result.ended
        details: dict[str, Any] = {"title": ended.title, "text": ended.text, "ok": ended.ok} | dict(result.details)
        details |= dict(more)
        if ended.truncation is not None:
            details["meta"] = {"truncation": dict(ended.truncation)}
        if ended.files:
            details["changed"] = True
        noted = self._noted.pop(call.id, None)
        noted = noted if noted is not None else self.titles.context.workspace.seen.drain()
        if noted and not result.is_error:
            details["seen"] = noted_to_log(noted)
        if ended.locations:
            details["locations"] = [[str(place.path), place.line] for place in ended.locations]
        message = {
            "role": "toolResult",
            "toolCallId": call.id,
            "toolName": call.name,
            "content": [
                {"type": "text", "text": result.text},
                *({"type": "image", "mimeType": one.mime_type, "data": one.data} for one in result.images),
            ],
            "details": details,
            "isError": result.is_error,
            "timestamp": now_ms(),
        }
        self._conversation.append("message", message=message)
        self._open.pop(call.id, None)
        self._results.pop(call.id, None)
