"""How answers are kept in the conversation: whole, cut off by the user, failed, or broken and asked for again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.log.transcript import block_to_log
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import AnswerDelta
from north_lsp.agent.turn.streamed import Streamed
from north_lsp.errors import ToolError
from north_lsp.providers.base import AssistantMessage, Failed, Text, ToolCall
from north_lsp.providers.model import Model
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import now_ms

CANCELLED_MARK = " [Cancelled]"
"""For the model; people are told by the editor."""


class AnswerLog:
    """Of one turn."""

    def __init__(self, conversation: Conversation, editor: Editor, calls: OpenCalls) -> None:
        self._conversation = conversation
        self._editor = editor
        self._calls = calls

    def form(
        self, message: AssistantMessage, model: Model, reason: str, streamed: Streamed, *, estimated: bool = False
    ) -> dict[str, Any]:
        """An answer as it is stored; `estimated` tells that nobody but North has counted its tokens."""
        usage = message.usage
        return {
            "role": "assistant",
            "provider": model.provider.id,
            "model": model.id,
            "api": model.provider.api,
            "content": [block_to_log(block) for block in message.blocks],
            "usage": {
                "input": usage.input,
                "output": usage.output,
                "cacheRead": usage.cache_read,
                "cacheWrite": usage.cache_write,
                "cost": {"total": model.prices.cost(usage)},
            }
            | ({} if model.prices.known else {"priced": False})
            | ({"estimated": True} if estimated else {}),
            "stopReason": reason,
            "durationMs": streamed.duration_ms,
            "timestamp": now_ms(),
        }

    def store(
        self, message: AssistantMessage, model: Model, streamed: Streamed, *, estimated: bool = False, **more: object
    ) -> None:
        """In the log; its partial copy is not needed any more."""
        reason = "stop" if message.stop_reason == "refusal" else message.stop_reason
        stored = self.form(message, model, reason, streamed, estimated=estimated) | more
        self._conversation.append("message", entry_id=streamed.entry_id, message=stored)
        self._calls.begin(message.calls)
        self._conversation.clear_partial()

    def keep_cancelled(self, streamed: Streamed, model: Model, *, in_file: bool) -> None:
        """What there was when the user cancelled, marked as such; `in_file`: its end belongs to a file."""
        message = streamed.message()
        last = message.blocks[-1] if message.blocks else None
        if isinstance(last, Text) and not in_file:
            message = replace(message, blocks=(*message.blocks[:-1], Text(last.text + CANCELLED_MARK)))
        self.store(replace(message, stop_reason="aborted"), model, streamed)

    async def keep_failed(self, end: Failed, streamed: Streamed, model: Model) -> None:
        """What there is of an answer that will not come; the user reads why, and the model does not get it."""
        partial = replace(end.partial, stop_reason="error")
        self.store(partial, model, streamed, errorMessage=end.message, excludeFromContext=True)
        text = error_text(end.message, bool(end.partial.text))
        await self._editor.show(AnswerDelta(streamed.entry_id, text))

    async def keep_broken(self, end: Failed, streamed: Streamed, model: Model) -> None:
        """An answer that is asked for again: it stays in the conversation, but the model does not get it."""
        partial = replace(streamed.message(), usage=end.partial.usage, stop_reason="error")
        self.store(partial, model, streamed, excludeFromContext=True)
        await self.fail_unrun(partial.calls, end.message)

    async def fail_unrun(self, calls: Sequence[ToolCall], reason: str) -> None:
        """The calls of an answer that broke off: none of them is run."""
        self._calls.fail(calls, ToolError("CANCELLED", f"not run: {reason}"))
        await self._calls.finish()


def error_text(message: str, after_text: bool) -> str:
    """How a model's failure stands in the conversation."""
    gap = "\n\n" if after_text else ""
    return f"{gap}**The model gave no complete answer:** {message}"
