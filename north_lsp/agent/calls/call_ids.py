"""Makes the ids of tool calls unique within a conversation: some servers start counting again in every answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    CallStart,
    Done,
    Failed,
    StreamEvent,
    ToolCall,
)


def plain_id(id: str) -> str:
    """Return the part of an id by which the vendor pairs calls and results: OpenAI's Responses API appends the id of
    the item."""
    return id.partition("|")[0]


class UniqueIds:
    """Renames the calls of one answer whose ids are already used in the conversation."""

    def __init__(self, used: Collection[str]) -> None:
        """Start with the plain ids that the conversation has already `used`."""
        self._used = used
        self._own: set[str] = set()
        self._names: dict[tuple[str, int], str] = {}

    def rename(self, event: StreamEvent) -> StreamEvent:
        """Return the event with unique ids; a call gets the same id in each of its events."""
        match event:
            case CallStart(index, id):
                return replace(event, id=self._name(id, index))
            case BlockEnd(index, ToolCall() as call):
                return replace(event, block=replace(call, id=self._name(call.id, index)))
            case Done():
                return replace(event, message=self._message(event.message))
            case Failed():
                return replace(event, partial=self._message(event.partial))
            case _:
                return event

    def _name(self, id: str, index: int) -> str:
        known = self._names.get((id, index))
        if known is not None:
            return known
        name, number = id, 1
        while not (plain := plain_id(name)) or plain in self._used or plain in self._own:
            number += 1
            name = f"{plain_id(id) or 'call'}-{number}"
        self._own.add(plain)
        self._names[id, index] = name
        return name

    def _message(self, message: AssistantMessage) -> AssistantMessage:
        """Return the message with the calls renamed. Calls with the same id take their new ones in the order in which
        they began."""
        waiting: dict[str, list[str]] = {}
        for (id, _), name in sorted(self._names.items(), key=lambda item: item[0][1]):
            waiting.setdefault(id, []).append(name)
        blocks: list[Block] = []
        for position, block in enumerate(message.blocks):
            if isinstance(block, ToolCall):
                names = waiting.get(block.id)
                id = names.pop(0) if names else self._name(block.id, -1 - position)
                blocks.append(replace(block, id=id))
            else:
                blocks.append(block)
        return replace(message, blocks=tuple(blocks))
