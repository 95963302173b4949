"""The part of an answer that has arrived."""

import time
from dataclasses import field, replace

from north_lsp.agent.calls.preflight import StreamingCall
from north_lsp.agent.calls.previews import CallPreviewSource
from north_lsp.agent.costs.estimates import at_least
from north_lsp.agent.stream_rules.watch import Violation
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import AssistantMessage, Block, Usage


@dataclass
class Streamed:
    """An answer as far as it has arrived; `began`: the stream has begun; `delivered`: the user has seen some of it."""

    entry_id: str
    started: float = field(default_factory=time.monotonic)
    blocks: dict[int, Block] = field(default_factory=dict)
    began: bool = False
    delivered: bool = False
    broke_in_file: bool = False
    calls: dict[int, StreamingCall] = field(default_factory=dict)
    preview_sources: dict[int, CallPreviewSource] = field(default_factory=dict)
    first_ms: int | None = None  # from the request to the first thing that arrived
    request_id: str = ""  # under which North's log tells of the request
    cut_short: bool = False  # by North, since a call that was still arriving cannot succeed
    broken: tuple[Violation, ...] = ()  # the rules for which it was stopped
    usage: Usage = field(default_factory=Usage)

    def message(self) -> AssistantMessage:
        """Make the message, with what the vendor has counted so far; it reports the output only at the end."""
        message = AssistantMessage(tuple(self.blocks[index] for index in sorted(self.blocks)))
        return replace(message, usage=at_least(self.usage, message))

    @property
    def duration_ms(self) -> int:
        return round((time.monotonic() - self.started) * 1000)
