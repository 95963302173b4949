"""Streams one answer: its events go to the editor, to the files that are written in it, and to a partial answer in the
log, which is written before anything is shown and survives a killed process."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace

import anyio
import anyio.to_thread

from north_lsp.agent.calls.call_ids import UniqueIds
from north_lsp.agent.calls.dispatch import Dispatcher
from north_lsp.agent.calls.previews import Previews
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.stream_rules.watch import StreamRules
from north_lsp.agent.turn.answer_log import AnswerLog
from north_lsp.agent.turn.arriving_calls import ArrivingCalls
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
    Told,
    ToolCall,
)
from north_lsp.providers.model import Model


class AnswerStreams:
    """Opens the streams of one turn's answers. `log` stores what becomes of them."""

    def __init__(
        self,
        context: TurnContext,
        history: History,
        files: FileBlocks,
        dispatcher: Dispatcher,
        log: AnswerLog,
        rules: StreamRules,
        ports: Ports,
    ) -> None:
        self.context = context
        self.history = history
        self.files = files
        self.dispatcher = dispatcher
        self.log = log
        self.rules = rules
        self.ports = ports

    @property
    def in_file(self) -> bool:
        """Whether the last text that arrived belongs to a file."""
        return self.files.in_block

    def nothing(self) -> Streamed:
        """Return the empty answer of a request that is not sent."""
        return Streamed(self.log.conversation.reserve_id())

    def open(self, model: Model) -> AnswerStream:
        return AnswerStream(self, model)


class AnswerStream:
    """The stream of one request. `streamed` is what has arrived, also if the stream is cancelled."""

    def __init__(self, turn: AnswerStreams, model: Model) -> None:
        self._conversation = turn.log.conversation
        self._turn = turn
        self._files = turn.files
        self._ports = turn.ports
        self._model = model
        self._tools = turn.context.tools
        self._previews = Previews(turn.ports.show, turn.ports.on_failure)
        self.streamed = turn.nothing()
        self._watch = turn.rules.watch()
        seconds = turn.context.settings.turns.flush_ms / 1000
        self._merger = DeltaMerger(self.streamed.entry_id, turn.ports.show, seconds)
        self._calls = ArrivingCalls(
            turn.context, turn.files, turn.dispatcher, self.streamed, self._previews, self._merger, turn.ports
        )

    async def run(self, provider: Provider, request: ModelRequest) -> Done | Failed:
        """Stream the answer until it ends. A provider's error becomes a failure; if the stream is cancelled, everything
        that arrived is shown."""
        conversation, streamed, merger = self._conversation, self.streamed, self._merger
        self._files.begin(streamed.entry_id, self._previews, self._watch.write)
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
                            await self._look(at_end=True)
                            break
                        if isinstance(renamed, Counted):
                            streamed.began, streamed.usage = True, renamed.usage
                            continue
                        if isinstance(renamed, Told):
                            await self._ports.show(Notice("warning", renamed.text))
                            continue
                        await self._take(renamed)
                        await self._look(at_end=False)
                        if streamed.cut_short or streamed.broken:
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
                await self._calls.show_ready()
            raise
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in a provider, what was shown is kept
            self._ports.on_failure("model stream", error)
            end = Failed("network", "the model's stream could not be read; see North's log", streamed.message())
        return end or Failed("network", "the model's stream ended early", streamed.message(), retryable=True)

    async def _take(self, event: StreamEvent) -> None:
        streamed, merger, blocks = self.streamed, self._merger, self.streamed.blocks
        streamed.began = True
        if streamed.first_ms is None:
            streamed.first_ms = streamed.duration_ms
        self._conversation.note_arrived(event, self._known(event))
        streamed.delivered = streamed.delivered or isinstance(event, TextDelta | ThinkingDelta | CallStart)
        append_delta(blocks, event)
        match event:
            case TextDelta(_, text):
                if shown := await self._prose(text):
                    self._watch.say("text", shown)
                    await merger.add(shown, thinking=False)
            case ThinkingDelta(_, text):
                self._watch.say("thinking", text)
                await merger.add(text, thinking=True)
            case CallStart(index, id, name):
                await self._tools.load(name)
                tool = self._tools.find(name)
                self._watch.begin_call(index, id, name, writes=tool is not None and "write" in tool.needs)
                await self._calls.begin(index, id, name)
            case BlockEnd(_, ToolCall()):
                await self._calls.finish_arriving()
            case CallDelta(index, json):
                self._watch.add_arguments(index, json)
                await self._calls.take(index, json)

    async def _look(self, *, at_end: bool) -> None:
        """Look for broken rules in what has arrived. What fails here costs the rules, not the answer."""
        with self._ports.diagnostics.guarded("watching an answer"):
            if await self._watch.look(at_end=at_end):
                self.streamed.broken = tuple(self._watch.broken)

    def _known(self, event: StreamEvent) -> Block | None:
        return self.streamed.blocks.get(event.index) if isinstance(event, BlockEnd) else None

    async def _prose(self, text: str) -> str:
        """Return the part of the answer's text that is shown as text: not the files that are written in it."""
        if not self._files.in_block and "<" in text:
            await self._merger.flush()  # a file may begin here; the text before it must be shown first
        return await self._files.take(text)
