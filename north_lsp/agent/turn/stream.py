"""Streams one answer: its events go to the editor, to the files that are written in it, and to a partial answer in the
log, which is written before anything is shown and survives a killed process."""

from contextlib import aclosing
from dataclasses import replace

import anyio
import anyio.to_thread

from north_lsp.agent.calls.call_ids import UniqueIds
from north_lsp.agent.calls.dispatch import Dispatcher
from north_lsp.agent.calls.preflight import StreamingCall, cannot_apply
from north_lsp.agent.calls.previews import CallPreviewSource, Previews
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import call_named
from north_lsp.agent.ports.events import CallReady, CallTitled
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.turn.answer_log import AnswerLog
from north_lsp.agent.turn.deltas import DeltaMerger
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.streamed_answer import Streamed
from north_lsp.providers.adapters.accumulator import append_delta
from north_lsp.providers.base import (
    Block,
    BlockEnd,
    CallDelta,
    CallStart,
    Counted,
    Done,
    Failed,
    ModelRequest,
    Provider,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCall,
)
from north_lsp.providers.model import Model
from north_lsp.storage.partial_file import NOT_COMPLETE
from north_lsp.tools.base import WriteTool


class AnswerStreams:
    """Opens the streams of one turn's answers. `log` stores what becomes of them."""

    def __init__(
        self,
        context: TurnContext,
        conversation: Log,
        history: History,
        files: FileBlocks,
        dispatcher: Dispatcher,
        log: AnswerLog,
        ports: Ports,
    ) -> None:
        self.context = context
        self.conversation = conversation
        self.history = history
        self.files = files
        self.dispatcher = dispatcher
        self.log = log
        self.ports = ports

    @property
    def in_file(self) -> bool:
        """Whether the last text that arrived belongs to a file."""
        return self.files.in_block

    def nothing(self) -> Streamed:
        """Return the empty answer of a request that is not sent."""
        return Streamed(self.conversation.reserve_id())

    def open(self, model: Model) -> "AnswerStream":
        return AnswerStream(self, model)


class AnswerStream:
    """The stream of one request. `streamed` is what has arrived, also if the stream is cancelled."""

    def __init__(self, turn: AnswerStreams, model: Model) -> None:
        self._context = turn.context
        self._conversation = turn.conversation
        self._turn = turn
        self._files = turn.files
        self._titles = turn.dispatcher.titles
        self._ports = turn.ports
        self._model = model
        self._previews = Previews(turn.ports.show, turn.ports.on_failure)
        self.streamed = turn.nothing()
        self._ready: set[int] = set()
        seconds = turn.context.settings.turns.flush_ms / 1000
        self._merger = DeltaMerger(self.streamed.entry_id, turn.ports.show, seconds)

    async def run(self, provider: Provider, request: ModelRequest) -> Done | Failed:
        """Stream the answer until it ends. A provider's error becomes a failure; if the stream is cancelled, everything
        that arrived is shown."""
        conversation, streamed, merger = self._conversation, self.streamed, self._merger
        self._files.begin(streamed.entry_id, self._previews)
        form = self._turn.log.form(streamed.message(), self._model, "aborted", streamed)
        conversation.begin_answer(streamed.entry_id, form)
        end: Done | Failed | None = None
        ids = UniqueIds(self._turn.history.call_ids())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(merger.run)
                tasks.start_soon(self._previews.run)
                async with aclosing(provider.stream(request)) as events:
                    async for event in events:
                        renamed = ids.rename(event)
                        if isinstance(renamed, Done | Failed):
                            end = renamed
                            break
                        if isinstance(renamed, Counted):
                            streamed.began, streamed.usage = True, renamed.usage
                            continue
                        await self._take(renamed)
                        if streamed.cut_short:
                            end = Done("toolUse", replace(streamed.message(), stop_reason="toolUse"))
                            break
                streamed.broke_in_file = self._files.in_block and not isinstance(end, Done)
                if rest := await self._files.finish():
                    await merger.add(rest, thinking=False)
                await merger.flush()
                tasks.cancel_scope.cancel()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await merger.flush()
                await self._show_ready()
            raise
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in a provider, what was shown is kept
            self._ports.on_failure("model stream", error)
            end = Failed("network", "the model's stream could not be read; see North's log", streamed.message())
        return end or Failed("network", "the model's stream ended early", streamed.message(), retryable=True)

    async def _take(self, event: StreamEvent) -> None:
        streamed, merger, blocks = self.streamed, self._merger, self.streamed.blocks
        streamed.began = True
        self._conversation.note_arrived(event, self._known(event))
        streamed.delivered = streamed.delivered or isinstance(event, TextDelta | ThinkingDelta | CallStart)
        append_delta(blocks, event)
        match event:
            case TextDelta(_, text):
                if shown := await self._prose(text):
                    await merger.add(shown, thinking=False)
            case ThinkingDelta(_, text):
                await merger.add(text, thinking=True)
            case CallStart(index, id, name):
                await merger.flush()
                call = ToolCall(id, name, {}, NOT_COMPLETE)
                tool = self._context.tools.find(name)
                title = self._titles.title(call)
                await self._ports.show(call_named(call, self._context.tools, title))
                blocks[index] = call
                streamed.calls[index] = StreamingCall(id, tool, title=title)
                if isinstance(tool, WriteTool) and self._context.may_write:
                    streamed.growing[index] = CallPreviewSource(streamed.calls[index], tool, self._context.workspace)
            case BlockEnd(_, ToolCall()):
                await self._previews.stop()
                await merger.flush()
                await self._show_ready()
            case CallDelta(index, json):
                arriving = streamed.calls.get(index)
                with self._ports.diagnostics.guarded("looking into a call that arrives"):
                    if arriving is not None and arriving.take(json):
                        await self._look_ahead(arriving, index)
                with self._ports.diagnostics.guarded("previewing an edit"):
                    if (growing := streamed.growing.get(index)) is not None and not streamed.cut_short:
                        self._previews.note(growing)
            case _:
                pass

    async def _show_ready(self) -> None:
        """Show the calls whose arguments are complete; also when cancelled, since they are stored that way."""
        for index, block in list(self.streamed.blocks.items()):
            if isinstance(block, ToolCall) and block.problem != NOT_COMPLETE and index not in self._ready:
                title, places = self._titles.title(block), self._titles.places(block)
                await self._ports.show(CallReady(block.id, title, dict(block.arguments), places))
                self._ready.add(index)

    def _known(self, event: StreamEvent) -> Block | None:
        return self.streamed.blocks.get(event.index) if isinstance(event, BlockEnd) else None

    async def _look_ahead(self, call: StreamingCall, index: int) -> None:
        """Use the arguments that are complete: the title may become more precise, and an edit that cannot apply is not
        waited for."""
        context, ports, streamed, merger = self._context, self._ports, self.streamed, self._merger
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
        if self._files.has_unreviewed or (error := await cannot_apply(call, earlier, context.workspace)) is None:
            return
        ports.diagnostics.event("edit_stopped_early", callId=call.id, code=error.code)
        self._turn.dispatcher.preset_error(call.id, error)
        streamed.blocks[index] = replace(known, problem=None)
        streamed.cut_short = True
        await self._previews.stop()
        await merger.flush()
        await self._show_ready()

    async def _prose(self, text: str) -> str:
        """Return the part of the answer's text that is shown as text: not the files that are written in it."""
        if not self._files.in_block and "<" in text:
            await self._merger.flush()  # a file may begin here; the text before it must be shown first
        return await self._files.take(text)
