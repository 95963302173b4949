"""Puts back what the placeholders in a streamed answer stand for, also those that arrive in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    CallDelta,
    Done,
    Failed,
    StreamEvent,
    Text,
    TextDelta,
    ToolCall,
)

_BEGUN = lazy_pattern(r"<(?:<(?:\$(?:e(?:n(?:v(?::(?:S(?:\d{1,6}>?)?)?)?)?)?)?)?)?\Z")
"""The end of a text that may be the beginning of a placeholder: as little as possible is held back."""

_Delta = TextDelta | CallDelta


class StreamRestorer:
    """Restores one answer."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held: dict[tuple[type[_Delta], int], str] = {}

    def take(self, event: StreamEvent) -> Iterator[StreamEvent]:
        """Return the events that can be passed on now that this one has arrived."""
        match event:
            case TextDelta(index, text) | CallDelta(index, text):
                yield from self._delta(type(event), index, text)
            case BlockEnd(index, block):
                yield from self._rest(index)
                yield BlockEnd(index, restored(block, self._secrets))
            case Done(message=message):
                yield from self._rest()
                yield replace(event, message=self._message(message))
            case Failed(partial=partial):
                yield from self._rest()
                yield replace(event, partial=self._message(partial))
            case _:
                yield event

    def _delta(self, kind: type[_Delta], index: int, text: str) -> Iterator[StreamEvent]:
        text = self._held.pop((kind, index), "") + text
        begun = _BEGUN.search(text)
        whole = text if begun is None else text[: begun.start()]
        if begun is not None:
            self._held[kind, index] = begun[0]
        if whole:
            yield kind(index, self._restored(kind, whole))

    def _rest(self, index: int | None = None) -> Iterator[StreamEvent]:
        """Return what was held back, of one block or of all: it was no placeholder."""
        for kind, held in [key for key in self._held if index is None or key[1] == index]:
            yield kind(held, self._held.pop((kind, held)))

    def _restored(self, kind: type[_Delta], text: str) -> str:
        return self._secrets.restored_in_json(text) if kind is CallDelta else self._secrets.restored(text)

    def _message(self, message: AssistantMessage) -> AssistantMessage:
        return replace(message, blocks=tuple(restored(block, self._secrets) for block in message.blocks))


def restored(block: Block, secrets: Secrets) -> Block:
    """Return a block of an answer with what its placeholders stand for; thoughts stay as their vendor signed them. A
    call with a placeholder whose value is not known any more is not run."""
    match block:
        case Text(text):
            return replace(block, text=secrets.restored(text))
        case ToolCall(arguments=arguments, problem=problem):
            if problem is None and (unknown := secrets.unknown_in(arguments)):
                problem = (
                    f"the value of {', '.join(unknown)} is not known any more, so the call was not run: read the file "
                    "that contains it again, and use the placeholder shown there"
                )
            return replace(block, arguments=secrets.restored(arguments), problem=problem)
        case _:
            return block
