"""Stores answers in the conversation: complete, cut off by the user, failed, or broken off and asked for again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.projection import CANCELLED_MARK, failure_shown
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.raw_usage import kept_usage
from north_lsp.agent.turn.streamed_answer import Streamed
from north_lsp.errors import ToolError
from north_lsp.providers.base import AssistantMessage, Failed, Text, ToolCall
from north_lsp.providers.model import Model
from north_lsp.storage.entries import now_ms

_BROKE_OFF = "the answer broke off, and is asked for again"
_DECLINED = "the model declined to continue"


class AnswerLog:
    """Stores the answers of one turn."""

    def __init__(self, log: Log, ports: Ports, calls: OpenCalls, files: FileBlocks) -> None:
        self._log = self.conversation = log
        self._editor = ports.editor
        self._diagnostics = ports.diagnostics
        self._calls = calls
        self._files = files

    def form(
        self, message: AssistantMessage, model: Model, reason: str, streamed: Streamed, *, estimated: bool = False
    ) -> AnswerEntry:
        """Make the entry of an answer; `estimated` says that its tokens were counted by North alone."""
        used, cost = message.usage, model.prices.split(message.usage)
        said = kept_usage(used.raw) if self._diagnostics.log.is_debug else {}
        return AnswerEntry(
            Content(message.blocks),
            model.provider.id,
            model.id,
            model.provider.api,
            StoredUsage.of(used, cost, priced=model.prices.known, estimated=estimated),
            reason,
            streamed.duration_ms,
            now_ms(),
            request_id=streamed.request_id,
            raw_usage=said,
        )

    def store(
        self,
        message: AssistantMessage,
        model: Model,
        streamed: Streamed,
        *,
        estimated: bool = False,
        error: str | None = None,
        excluded: bool = False,
    ) -> Logged:
        """Store an answer in the log and drop its partial copy. `error` is why it is not complete; an `excluded` one is
        not sent to models."""
        reason = "stop" if message.stop_reason == "refusal" else message.stop_reason
        entry = self.form(message, model, reason, streamed, estimated=estimated)
        logged = self._log.append(replace(entry, error=error, excluded=excluded), streamed.entry_id)
        self._calls.begin(message.calls)
        self._log.end_answer()
        return logged

    def keep_cancelled(self, streamed: Streamed, model: Model, *, in_file: bool) -> None:
        """Store what had arrived when the user cancelled, marked as such; `in_file`: its end belongs to a file."""
        message = streamed.message()
        last = message.blocks[-1] if message.blocks else None
        if isinstance(last, Text) and not in_file:
            message = replace(message, blocks=(*message.blocks[:-1], Text(last.text + CANCELLED_MARK)))
        self.store(replace(message, stop_reason="aborted"), model, streamed)

    async def keep_failed(self, end: Failed, streamed: Streamed, model: Model) -> None:
        """Store what there is of a failed answer; the user sees why it failed, and models do not get it."""
        arrived = {block.id: block for block in streamed.blocks.values() if isinstance(block, ToolCall)}
        blocks = [
            arrived.get(block.id, block) if isinstance(block, ToolCall) else block for block in end.partial.blocks
        ]
        partial = replace(end.partial, blocks=tuple(blocks), stop_reason="error")
        logged = self.store(partial, model, streamed, error=end.message, excluded=True)
        for event in failure_shown(logged):
            await self._editor.show(event)
        await self.fail_unrun(partial.calls, end.message)

    async def keep_broken(self, end: Failed, streamed: Streamed, model: Model) -> None:
        """Store what was shown of an answer that is asked for again, if anything was: it stays in the conversation, but
        models do not get it, and nothing of it is carried out."""
        if streamed.delivered:
            partial = replace(streamed.message(), usage=end.partial.usage, stop_reason="error")
            self.store(partial, model, streamed, excluded=True)
            await self.fail_unrun(partial.calls, end.message)
            await self._files.withdraw(_BROKE_OFF)

    async def decline(self, answer: AssistantMessage) -> None:
        """Fail the calls of an answer with which the model declined to go on."""
        await self.fail_unrun(answer.calls, _DECLINED)

    async def fail_unrun(self, calls: Sequence[ToolCall], reason: str) -> None:
        """Fail the calls of an answer that broke off: none of them is run."""
        self._calls.fail(calls, ToolError("CANCELLED", f"not run: {reason}"))
        await self._calls.finish()
