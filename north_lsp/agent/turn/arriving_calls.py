"""Shows the calls of an answer while their arguments arrive: titles, previews, and the early end of an edit that cannot
apply."""

from __future__ import annotations

from dataclasses import replace

from north_lsp.agent.calls.dispatch import Dispatcher
from north_lsp.agent.calls.preflight import StreamingCall, cannot_apply
from north_lsp.agent.calls.previews import CallPreviewSource, Previews
from north_lsp.agent.log.projection import call_named
from north_lsp.agent.ports.events import CallReady, CallTitled
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.turn.deltas import DeltaMerger
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.streamed_answer import Streamed
from north_lsp.providers.base import ToolCall
from north_lsp.storage.partial_file import NOT_COMPLETE


class ArrivingCalls:
    """The calls of one answer; `streamed` is what has arrived of it."""

    def __init__(
        self,
        context: TurnContext,
        files: FileBlocks,
        dispatcher: Dispatcher,
        streamed: Streamed,
        previews: Previews,
        merger: DeltaMerger,
        ports: Ports,
    ) -> None:
        self._context = context
        self._files = files
        self._dispatcher = dispatcher
        self._titles = dispatcher.titles
        self._streamed = streamed
        self._previews = previews
        self._merger = merger
        self._ports = ports
        self._ready: set[int] = set()

    async def begin(self, index: int, id: str, name: str) -> None:
        """Show a call of which only the name is known."""
        await self._merger.flush()
        call = ToolCall(id, name, {}, NOT_COMPLETE)
        tool = self._context.tools.find(name)
        title = self._titles.title(call)
        await self._ports.show(call_named(call, self._context.tools, title))
        self._streamed.blocks[index] = call
        arriving = StreamingCall(id, tool, title=title)
        self._streamed.calls[index] = arriving
        if tool is not None and (writer := tool.writer) is not None and self._context.may_write:
            self._streamed.preview_sources[index] = CallPreviewSource(arriving, writer, self._context.workspace)

    async def take(self, index: int, json: str) -> None:
        """Take a piece of a call's arguments. What fails here costs the preview, not the call."""
        streamed, diagnostics = self._streamed, self._ports.diagnostics
        arriving = streamed.calls.get(index)
        with diagnostics.guarded("looking into a call that arrives"):
            if arriving is not None and arriving.take(json):
                await self._look_ahead(arriving, index)
        with diagnostics.guarded("previewing an edit"):
            if (source := streamed.preview_sources.get(index)) is not None and not streamed.cut_short:
                self._previews.note(source)

    async def finish_arriving(self) -> None:
        """Show the calls whose arguments are complete, after everything that came before them."""
        await self._previews.stop()
        await self._merger.flush()
        await self.show_ready()

    async def show_ready(self) -> None:
        """Show the calls whose arguments are complete; also when cancelled, since they are stored that way."""
        for index, block in list(self._streamed.blocks.items()):
            if isinstance(block, ToolCall) and block.problem != NOT_COMPLETE and index not in self._ready:
                title, places = self._titles.title(block), self._titles.places(block)
                await self._ports.show(CallReady(block.id, title, dict(block.arguments), places))
                self._ready.add(index)

    async def _look_ahead(self, call: StreamingCall, index: int) -> None:
        """Use the arguments that are complete: the title may become more precise, and an edit that cannot apply is not
        waited for."""
        context, ports, streamed, merger = self._context, self._ports, self._streamed, self._merger
        block = streamed.blocks[index]
        if not isinstance(block, ToolCall):
            return
        known = replace(block, arguments=call.partial.complete_fields)
        title = self._titles.title(known)
        if title != call.title:
            call.title = title
            await merger.flush()
            await ports.show(CallTitled(call.id, title))
        if not context.settings.turns.stream_guard or not context.may_write:
            return
        earlier = [other for at, other in streamed.blocks.items() if at != index and isinstance(other, ToolCall)]
        if self._files.has_unreviewed:
            return
        if (error := await cannot_apply(call, earlier, context.tools, context.workspace)) is None:
            return
        ports.diagnostics.event("edit_stopped_early", callId=call.id, code=error.code)
        self._dispatcher.preset_error(call.id, error)
        streamed.blocks[index] = replace(known, problem=None)
        streamed.cut_short = True
        await self.finish_arriving()
