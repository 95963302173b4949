"""Runs the tool calls of one answer: checks them, gives them what they need, and makes sure that each gets exactly one
result."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp.agent.calls.arguments import repair_arguments
from north_lsp.agent.calls.leak_guard import LeakGuard
from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.calls.repetition import Repetition, with_note
from north_lsp.agent.calls.titles import Titles
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.log.digests import shorten_result
from north_lsp.agent.log.images import kept_image
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import NextPrompt, Result, StopTurn, ok
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.display import titled, visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import Image, ToolCall
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Output
from north_lsp.tools.support.shown import shown_result

if TYPE_CHECKING:
    from north_lsp.agent.calls.host import HostServices
    from north_lsp.agent.web.fetching import WebAccess

_MAX_PARALLEL = 8


class ToolRunner:
    """Runs single calls; there is one per session. `services` makes what they are carried out with, for the first one;
    `pictures` keeps images that tools return, `artifacts` output that is too long."""

    def __init__(
        self, services: Callable[[], HostServices], pictures: Checkpoints, artifacts: Artifacts | None, ports: Ports
    ) -> None:
        self._services = services
        self._pictures = pictures
        self._artifacts = artifacts
        self._ports = ports

    @cached_property
    def _abilities(self) -> HostServices:
        return self._services()

    @property
    def pages(self) -> WebAccess:
        """The access to the web."""
        return self._abilities.carriers.outside.web

    async def run(self, context: TurnContext, call: ToolCall, calls: OpenCalls) -> Result:
        """Check a call's arguments and run its tool. Raises StopTurn, ToolError."""
        diagnostics = self._ports.diagnostics
        arguments, changed = repair_arguments(call.arguments, context.tools.schema(call.name))
        if changed:
            diagnostics.event("arguments_repaired", toolName=call.name, fields=changed)
        tool, args = context.tools.check(call.name, arguments, context.mode)
        host = self._abilities.for_call(context, tool, call, calls.titles.title(call), calls.keep)
        with diagnostics.timed_tool(call) as outcome:
            came = await tool.invoke(args, context.workspace, host)
            result = await self._of_output(context, call, came) if isinstance(came, Output) else came
            outcome.ok, outcome.truncated = not result.is_error, result.ended.truncation is not None
        return result

    async def _of_output(self, context: TurnContext, call: ToolCall, output: Output) -> Result:
        missing: Mapping[str, object] | None = None
        shown = visible(output.text if output.text is not None else shown_result(output.data))
        if output.digest is not None and self._artifacts is not None and context.settings.reading.digest:
            keep = partial(shorten_result, output.digest, call.name, self._artifacts)
            data, missing = await anyio.to_thread.run_sync(keep)
            output = replace(output, data=data)
        text = output.text if output.text is not None else ok(output.data)
        title, places = titled(output.title), output.locations
        ended = CallEnded(call.id, title, not output.failed, shown, locations=places, truncation=missing)
        pictures = await self._keep_pictures(output)
        return Result(text, output.failed, ended, output.details, images=pictures, ends_turn=output.ends_turn)

    async def _keep_pictures(self, output: Output) -> tuple[Image, ...]:
        kept = {hashlib.sha256(one.data).hexdigest(): one for one in output.pictures}
        try:
            if kept:
                await self._pictures.keep({digest: one.data for digest, one in kept.items()})
        except OSError:
            pass  # the model is told that the image is not available
        return tuple(kept_image(one.mime_type, one.data, digest) for digest, one in kept.items())


class Dispatcher:
    """Runs the calls of one turn's answers."""

    def __init__(self, context: TurnContext, calls: OpenCalls, runner: ToolRunner, ports: Ports) -> None:
        self._context = context
        self._calls = calls
        self._runner = runner
        self._ports = ports
        self._leaks = LeakGuard(context, ports)
        self._repetition = Repetition()
        self._preset_errors: dict[str, ToolError] = {}
        self.note_for: Callable[[str], str] = lambda _id: ""
        """Returns what the model is told before the result of a call."""
        self.ends_turn = False
        self.next: NextPrompt | None = None
        """The prompt that follows the turn by itself."""

    @property
    def titles(self) -> Titles:
        return self._calls.titles

    @property
    def is_stuck(self) -> bool:
        """Whether the model makes the same call again and again."""
        return self._repetition.is_endless

    def take_up(self, calls: Sequence[ToolCall]) -> None:
        """Take over calls of an answer that an earlier process stored and that have not begun."""
        self._calls.begin(calls)

    def preset_error(self, call_id: str, error: ToolError) -> None:
        """Make a call fail with this error instead of running it."""
        self._preset_errors[call_id] = error

    async def run(self, calls: Sequence[ToolCall], is_interrupted: Callable[[], bool] = lambda: False) -> None:
        """Run all calls in order, neighboring readers concurrently; once `is_interrupted` says so, calls that have not
        begun are skipped. Raises StopTurn."""
        waiting = list(calls)
        while waiting:
            if self.ends_turn or is_interrupted():
                why = "the call before it ended the turn" if self.ends_turn else "the user sent a new message"
                self._calls.fail(waiting, ToolError("CANCELLED", f"skipped: {why}"))
                await self._calls.finish()
                return
            await self._ports.status.before_step()
            group = [waiting.pop(0)]
            if waiting and self._parallel(group[0]) and not ((hold := self._context.rules.hold()) and hold.counts):
                while waiting and self._parallel(waiting[0]) and len(group) < _MAX_PARALLEL:
                    group.append(waiting.pop(0))
            try:
                async with anyio.create_task_group() as tasks:
                    for call in group:
                        tasks.start_soon(self._run_one, call)
            except* StopTurn:
                raise StopTurn from None

    async def close(self) -> None:
        """Give every call that has no result yet one that says so; called after the turn, however it ended."""
        await self._calls.close()

    def _parallel(self, call: ToolCall) -> bool:
        tool = self._context.tools.listed(call.name)
        return tool is not None and tool.parallel

    async def _run_one(self, call: ToolCall) -> None:
        stop, failure = False, self._calls.titles.failure
        try:
            with self._calls.noting(call), self._ports.calls.running(call.id) as running:
                result = await self._run(call)
            if running.cancelled_caught:
                result = self._calls.stopped(call)
        except ToolError as error:
            result = failure(call, error)
        except StopTurn as stopped:
            said = f" and said: {stopped.comment}" if stopped.comment else ""
            result, stop = failure(call, ToolError("CANCELLED", f"the user stopped here{said}")), True
        except Exception as error:  # noqa: BLE001 - one broken tool must not end the turn
            self._ports.on_failure(f"tool {call.name}", error)
            result = failure(call, ToolError("INTERNAL", f"{call.name} failed in North ({type(error).__name__})"))
        tool = self._context.tools.listed(call.name)
        with self._ports.diagnostics.guarded("noticing repeated calls"):
            writes = tool is not None and "write" in tool.needs
            result = replace(result, text=self._repetition.note(call, result, writes=writes))
            if note := self.note_for(call.id):
                result = replace(result, text=f"{note}\n\n{result.text}")
        self._calls.keep(call.id, result)
        self.ends_turn, self.next = self.ends_turn or result.ends_turn, result.next or self.next
        await self._calls.finish()
        if stop:
            raise StopTurn

    async def _run(self, call: ToolCall) -> Result:
        if call.problem is not None:
            hint = "send the call again with complete arguments, in smaller steps if they are long"
            raise ToolError("INVALID_INPUT", call.problem, hint)
        if (preset := self._preset_errors.pop(call.id, None)) is not None:
            raise preset
        call, note = await self._leaks.cleaned(call)
        result = await self._runner.run(self._context, call, self._calls)
        return result if note is None else replace(result, text=with_note(result.text, note))
