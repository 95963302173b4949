"""The part of an answer that has arrived."""

from __future__ import annotations

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
    started: float = field(default_factory=time.monotonic, init=False)
    blocks: dict[int, Block] = field(default_factory=dict, init=False)
    began: bool = field(default=False, init=False)
    delivered: bool = field(default=False, init=False)
    broke_in_file: bool = field(default=False, init=False)
    calls: dict[int, StreamingCall] = field(default_factory=dict, init=False)
    preview_sources: dict[int, CallPreviewSource] = field(default_factory=dict, init=False)
    first_ms: int | None = field(default=None, init=False)  # from the request to the first thing that arrived
    request_id: str = field(default="", init=False)  # under which North's log tells of the request
    cut_short: bool = field(default=False, init=False)  # by North, since a call that still arrived cannot succeed
    broken: tuple[Violation, ...] = field(default=(), init=False)  # the rules for which it was stopped
    usage: Usage = field(default_factory=Usage, init=False)

    def message(self) -> AssistantMessage:
        """Make the message, with what the vendor has counted so far; it reports the output only at the end."""
        message = AssistantMessage(tuple(self.blocks[index] for index in sorted(self.blocks)))
        return replace(message, usage=at_least(self.usage, message))

    @property
    def duration_ms(self) -> int:
        return round((time.monotonic() - self.started) * 1000)
