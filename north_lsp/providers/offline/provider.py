"""The offline model as a provider that keeps the stream contract."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import (
    Block,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    ModelRequest,
    StreamEvent,
    Text,
    TextDelta,
    ToolCall,
)
from north_lsp.providers.offline.brain import next_answer

_WORD = lazy_pattern(r"\s*\S+(?:\s+\Z)?|\s+")
_JSON_PIECE = 40
_PIECES_PER_CHECKPOINT = 4


class OfflineProvider:
    """Streams rule-based answers. `delay` is the time between pieces in seconds, so that they can be watched."""

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        import anyio
        import anyio.lowlevel

        message = next_answer(request)
        pieces = 0
        for index, block in enumerate(message.blocks):
            for event in _events(index, block):
                if self._delay > 0 and isinstance(event, TextDelta):
                    await anyio.sleep(self._delay)
                elif pieces % _PIECES_PER_CHECKPOINT == 0:
                    await anyio.lowlevel.checkpoint()
                pieces += 1
                yield event
            yield BlockEnd(index, block)
        yield Done("toolUse" if message.calls else "stop", message)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""


def _events(index: int, block: Block) -> Iterator[StreamEvent]:
    match block:
        case Text(text):
            yield from (TextDelta(index, word) for word in _WORD.findall(text))
        case ToolCall(id, name, arguments):
            yield CallStart(index, id, name)
            encoded = json.dumps(dict(arguments), ensure_ascii=False)
            for at in range(0, len(encoded), _JSON_PIECE):
                yield CallDelta(index, encoded[at : at + _JSON_PIECE])
        case _:
            pass
