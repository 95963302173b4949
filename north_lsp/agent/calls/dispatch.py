"""Running the tool calls of one answer: checked, reviewed where they need it, each with exactly one result."""

import hashlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

import anyio
import anyio.to_thread

from north_lsp.agent.calls.arguments import repaired
from north_lsp.agent.calls.leaks import leak_in, may_leak, patch_before, texts_of
from north_lsp.agent.calls.repetition import Repetition, with_note
from north_lsp.agent.edits.review import review_edit
from north_lsp.agent.log.digests import shortened
from north_lsp.agent.log.images import PREFIX
from north_lsp.agent.log.remembering import noted_to_log
from north_lsp.agent.ports.events import CallEnded, CallRunning, Notice
from north_lsp.agent.ports.results import Result, StopTurn, failed, ok
from north_lsp.agent.shell.jobs import run_job
from north_lsp.agent.shell.run import run_command
from north_lsp.agent.turn_state import TurnState
from north_lsp.display import one_line, titled, visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import Image, ToolCall
from north_lsp.tools.base import JobTool, Location, Noted, Output, ReadTool, ShellTool, WriteTool, noting
from north_lsp.tools.support.texts import resolve_open, text_of

_T = TypeVar("_T")
_MAX_PARALLEL = 8
_LEAKS_TOLD = 2
_LEAK_SHOWN = 60


class Calls:
    """Runs calls for one turn."""

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._results: dict[str, Result] = {}
        self._finishing = anyio.Lock()
        self._repetition = Repetition()
        self._noted: dict[str, Noted] = {}
        self._foreseen: dict[str, ToolError] = {}
        self._leaks = 0

    @property
    def is_stuck(self) -> bool:
        """The model makes the same call again and again."""
        return self._repetition.is_endless

    async def run(self, calls: Sequence[ToolCall]) -> None:
        """Run all calls in order, neighbouring readers side by side. Raises StopTurn."""
        waiting = list(calls)
        while waiting:
            if self._state.queue.interrupts:
                for call in waiting:
                    error = ToolError("CANCELLED", "skipped: the user sent a new message")
                    self._results[call.id] = self._failure(call, error)
                await self._finish(waiting)
                return
            group = [waiting.pop(0)]
            while waiting and self._parallel(group[0]) and self._parallel(waiting[0]) and len(group) < _MAX_PARALLEL:
                group.append(waiting.pop(0))
            unstored = list(group)
            try:
                async with anyio.create_task_group() as tasks:
                    for call in group:
                        tasks.start_soon(self._run_one, call, unstored)
            except* StopTurn:
                raise StopTurn from None

    async def wind_up(self, calls: Sequence[ToolCall]) -> None:
        """After a cancel or a failure: what has a result keeps it, every other call gets one that says so."""
        for call in calls:
            if call.id not in self._results:
                error = ToolError("CANCELLED", "cancelled by the user before it had a result")
                self._results[call.id] = self._failure(call, error)
        await self._finish(list(calls))

    async def break_off(self, calls: Sequence[ToolCall], reason: str) -> None:
        """The calls of an answer that is asked for again: none of them is run."""
        for call in calls:
            self._results[call.id] = self._failure(call, ToolError("CANCELLED", f"not run: {reason}"))
        await self._finish(list(calls))

    def foresee(self, call_id: str, error: ToolError) -> None:
        """A call that is known to fail before it is run."""
        self._foreseen[call_id] = error

    def keep(self, call_id: str, result: Result) -> None:
        """A call's result, to be stored even if the turn is cancelled at this moment."""
        self._results[call_id] = result

    async def settle(self, call: ToolCall, result: Result, details: Mapping[str, object]) -> None:
        """Store and show the result of something that is no tool of the registry; `refused` ones are not shown."""
        self._results[call.id] = result
        if not self._has_result(call):
            with anyio.CancelScope(shield=True):
                self._store(call, result, details)
                if not details.get("refused"):
                    await self._state.editor.show(result.ended)

    async def _finish(self, unstored: list[ToolCall]) -> None:
        """Store and then show results, as far as they are complete in the order of the calls."""
        async with self._finishing:
            while unstored and (result := self._results.get(unstored[0].id)) is not None:
                call = unstored.pop(0)
                if not self._has_result(call):
                    with anyio.CancelScope(shield=True):  # what is stored is shown, also when it is cancelled just now
                        await self._state.editor.show(self._stored(call, result).ended)

    def _stored(self, call: ToolCall, result: Result) -> Result:
        """Write a call's result to the log; one that cannot be written gives way to one that says so."""
        try:
            self._store(call, result)
            return result
        except Exception as error:  # noqa: BLE001 - every call has one result
            self._state.on_failure(f"storing the result of {call.name}", error)
        instead = self._failure(call, ToolError("INTERNAL", f"the result of {call.name} could not be stored"))
        self._results[call.id] = instead
        self._store(call, instead)
        return instead

    def _has_result(self, call: ToolCall) -> bool:
        path = reversed(self._state.conversation.active_path())
        for entry in path:
            message = entry.get("message", {}) if entry["type"] == "message" else {}
            if message.get("role") == "assistant":
                return False
            if message.get("role") == "toolResult" and message.get("toolCallId") == call.id:
                return True
        return False

    def _store(self, call: ToolCall, result: Result, more: Mapping[str, object] | None = None) -> None:
        """Write a call's result to the log."""
        ended = result.ended
        details: dict[str, Any] = {"title": ended.title, "text": ended.text, "ok": ended.ok} | dict(result.details)
        details |= dict(more or {})
        if ended.truncation is not None:
            details["meta"] = {"truncation": dict(ended.truncation)}
        if ended.files:
            details["changed"] = True
        noted = self._noted.pop(call.id, None)
        noted = noted if noted is not None else self._state.workspace.seen.drain()
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
            "timestamp": self._state.milliseconds(),
        }
        self._state.conversation.append("message", message=message)

    def title(self, call: ToolCall) -> str:
        tool = self._state.tools.find(call.name)
        title = call.name
        if tool is not None:
            with self._state.diagnostics.guarded(f"the title of {call.name}"):
                title = tool.title(dict(call.arguments))
        return one_line(title)

    def places(self, call: ToolCall) -> tuple[Location, ...]:
        """The file that a looking call is about to look at, so that an editor can follow along."""
        with self._state.diagnostics.guarded(f"the place of {call.name}"):
            return self._places(call)
        return ()

    def _places(self, call: ToolCall) -> tuple[Location, ...]:
        path, line = call.arguments.get("path", call.arguments.get("file")), call.arguments.get("startLine")
        if not isinstance(self._state.tools.find(call.name), ReadTool) or not isinstance(path, str):
            return ()
        if not path or "\0" in path or "://" in path or ".." in path.split("/") or path.startswith("~"):
            return ()
        root = self._state.workspace.roots.main
        place = root / path
        if not place.is_relative_to(root) or not os.path.isfile(place):
            return ()
        return (Location(place, line if isinstance(line, int) and line > 0 else None),)

    def _parallel(self, call: ToolCall) -> bool:
        tool = self._state.tools.find(call.name)
        return tool is not None and tool.parallel

    async def _run_one(self, call: ToolCall, unstored: list[ToolCall]) -> None:
        stop = False
        try:
            with noting(self._noted.setdefault(call.id, {})):
                result = await self._run(call)
        except ToolError as error:
            result = self._failure(call, error)
        except StopTurn as stopped:
            said = f" and said: {stopped.comment}" if stopped.comment else ""
            result, stop = self._failure(call, ToolError("CANCELLED", f"the user stopped here{said}")), True
        except Exception as error:  # noqa: BLE001 - one broken tool must not take the turn with it
            self._state.on_failure(f"tool {call.name}", error)
            result = self._failure(call, ToolError("INTERNAL", f"{call.name} failed in North ({type(error).__name__})"))
        tool = self._state.tools.find(call.name)
        with self._state.diagnostics.guarded("noticing repeated calls"):
            result = replace(result, text=self._repetition.note(call, result, writes=isinstance(tool, WriteTool)))
        self._results[call.id] = result
        await self._finish(unstored)
        if stop:
            raise StopTurn

    def _failure(self, call: ToolCall, error: ToolError) -> Result:
        text = visible(error.message if error.hint is None else f"{error.message}\n{error.hint}")
        return Result(failed(error), True, CallEnded(call.id, self.title(call), False, text))

    async def _run(self, call: ToolCall) -> Result:
        if call.problem is not None:
            hint = "send the call again with complete arguments, in smaller steps if they are long"
            raise ToolError("INVALID_INPUT", call.problem, hint)
        if (foreseen := self._foreseen.pop(call.id, None)) is not None:
            raise foreseen
        call, note = await self._without_leak(call)
        result = await self._run_checked(call)
        return result if note is None else replace(result, text=with_note(result.text, note))

    async def _without_leak(self, call: ToolCall) -> tuple[ToolCall, str | None]:
        """The call, or what can be kept of it. Raises ToolError for one with a trace of the model's inner channels."""
        state = self._state
        if not may_leak(state.model.id):
            return call, None
        for name, text in texts_of(call.arguments):
            leak = leak_in(text)
            if leak is None or await self._stands_there(call, text[leak:].split("\n")[0][:_LEAK_SHOWN]):
                continue
            state.diagnostics.event("channel_leak", toolName=call.name, field=name)
            if call.name == "edit_patch" and (kept := patch_before(text, leak)) is not None:
                note = "a later part of the patch held text of another channel and was left out: send that part again"
                return replace(call, arguments={**call.arguments, name: kept}), note
            self._leaks += 1
            if self._leaks == _LEAKS_TOLD:
                told = (
                    f"{state.model.title} keeps mixing its inner channels into its calls; another model may do better"
                )
                await state.editor.show(Notice("warning", told))
            problem = f"{name} holds text that belongs to another channel ({one_line(text[leak:], _LEAK_SHOWN)})"
            raise ToolError("INVALID_INPUT", problem, f"send the call again with a clean {name}")
        return call, None

    async def _stands_there(self, call: ToolCall, marker: str) -> bool:
        """The file that the call is about has that text already: it is meant."""
        try:
            resolved = await resolve_open(str(call.arguments["path"]), self._state.workspace)
            text, _ = await text_of(resolved.path, self._state.workspace)
        except (KeyError, ToolError):
            return False
        return marker.split(maxsplit=1)[0] in text.text

    async def _run_checked(self, call: ToolCall) -> Result:
        tool, args = self._state.tools.check(call.name, self._repaired(call), self._state.mode)
        with self._state.diagnostics.timed_tool(call) as outcome:
            match tool:
                case ReadTool():
                    await self._state.editor.show(CallRunning(call.id))
                    output = await self._apart(call, partial(tool.run, args, self._state.workspace))
                    result = await self._output(call, output)
                case WriteTool():
                    changes = await self._apart(call, partial(tool.prepare, args, self._state.workspace))
                    keep = partial(self.keep, call.id)
                    result = await review_edit(self._state, call, self.title(call), changes, keep)
                case ShellTool():
                    command = await anyio.to_thread.run_sync(tool.command, args, self._state.workspace)
                    result = await run_command(self._state, call, self.title(call), command)
                case JobTool():
                    result = await run_job(self._state, call, self.title(call), tool.request(args))
                case _:
                    raise ToolError("UNAVAILABLE", f"{call.name} cannot be run here")
            outcome.ok = not result.is_error
        return result

    async def _apart(self, call: ToolCall, work: Callable[[], Awaitable[_T]]) -> _T:
        """Something that only reads: when the turn is cancelled, it is not waited for longer than is fair."""

        def note(what: Literal["left", "ended late"]) -> None:
            self._state.diagnostics.warning("tool_detached", toolName=call.name, callId=call.id, what=what)

        return await self._state.detached.run(work, note)

    def _repaired(self, call: ToolCall) -> dict[str, object]:
        arguments, changed = repaired(call.arguments, self._state.tools.schema(call.name))
        if changed:
            self._state.diagnostics.event("arguments_repaired", toolName=call.name, fields=changed)
        return arguments

    async def _output(self, call: ToolCall, output: Output) -> Result:
        missing: Mapping[str, object] | None = None
        if output.digest is not None and self._state.artifacts is not None and self._state.settings.reading.digest:
            keep = partial(shortened, output.digest, call.name, self._state.artifacts)
            data, missing = await anyio.to_thread.run_sync(keep)
            output = replace(output, data=data)
        text = output.text if output.text is not None else ok(output.data)
        shown = visible(output.text) if output.text is not None else ""
        title, places = titled(output.title), output.locations
        ended = CallEnded(call.id, title, not output.failed, shown, locations=places, truncation=missing)
        return Result(text, output.failed, ended, output.details, images=await self._keep_pictures(output))

    async def _keep_pictures(self, output: Output) -> tuple[Image, ...]:
        kept = {hashlib.sha256(one.data).hexdigest(): one for one in output.pictures}
        try:
            if kept:
                await self._state.checkpoints.keep({digest: one.data for digest, one in kept.items()})
        except OSError:
            pass  # the model is told that it is not available
        return tuple(Image(one.mime_type, PREFIX + digest) for digest, one in kept.items())
