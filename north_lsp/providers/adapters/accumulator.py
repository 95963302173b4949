"""An answer while it arrives, for vendors that do not number blocks: a block of text or thinking continues until
something else comes."""

from __future__ import annotations

from itertools import count
from typing import Literal

from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    Done,
    StopReason,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    Usage,
)


def append_delta(blocks: dict[int, Block], event: StreamEvent) -> None:
    """Add an event's text or thinking, or its complete block, to the blocks by index."""
    match event:
        case TextDelta(index, text):
            before = blocks.get(index)
            blocks[index] = Text((before.text if isinstance(before, Text) else "") + text)
        case ThinkingDelta(index, text):
            before = blocks.get(index)
            blocks[index] = Thinking((before.thinking if isinstance(before, Thinking) else "") + text)
        case BlockEnd(index, block):
            blocks[index] = block
        case _:
            pass


class AnswerAccumulator:
    """The message so far, always equal to what has been emitted. Some servers repeat call ids or give none; ids are
    made unique within one answer, but the caller must make them unique within the conversation."""

    def __init__(self) -> None:
        self.ended = False
        self._used: set[str] = set()
        self._blocks: list[Block] = []
        self._open: int | None = None
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        return self._usage

    def partial(self, reason: Literal["error"]) -> AssistantMessage:
        return AssistantMessage(tuple(self._blocks), reason, self._usage)

    def take_done(self) -> None:
        """End the answer: some servers that speak other APIs send `[DONE]`, too, like OpenAI's."""
        self.ended = True

    def _done(self, reason: StopReason) -> Done:
        """Return the whole answer; one with calls has stopped for them."""
        if reason == "stop" and any(isinstance(block, ToolCall) for block in self._blocks):
            reason = "toolUse"
        return Done(reason, AssistantMessage(tuple(self._blocks), reason, self._usage))

    def _say(self, piece: str) -> list[StreamEvent]:
        if not piece:
            return []
        events, index = self._block(Text(""))
        block = self._blocks[index]
        assert isinstance(block, Text)
        self._blocks[index] = Text(block.text + piece)
        return [*events, TextDelta(index, piece)]

    def _think(self, piece: str) -> list[StreamEvent]:
        if not piece:
            return []
        events, index = self._block(Thinking(""))
        block = self._blocks[index]
        assert isinstance(block, Thinking)
        self._blocks[index] = Thinking(block.thinking + piece)
        return [*events, ThinkingDelta(index, piece)]

    def _block(self, empty: Text | Thinking) -> tuple[list[StreamEvent], int]:
        """Return the events so far and the index of the open block of this type, closing a block of another type."""
        if self._open is not None and type(self._blocks[self._open]) is type(empty):
            return [], self._open
        events = self._close()
        self._blocks.append(empty)
        self._open = len(self._blocks) - 1
        return events, self._open

    def _close(self) -> list[StreamEvent]:
        if self._open is None:
            return []
        index, self._open = self._open, None
        return [BlockEnd(index, self._blocks[index])]

    def _new_id(self, id: str) -> str:
        free = id
        if not free or free in self._used:
            base = id or "call"
            free = next(name for number in count(len(self._used)) if (name := f"{base}_{number}") not in self._used)
        self._used.add(free)
        return free
