"""How many tokens the entries of a conversation have, for one model."""

from __future__ import annotations

from collections.abc import Iterable

from north_lsp.agent.costs.sizes import RequestSizes
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.transcript import message_of
from north_lsp.providers.model import Model


def sizes_of(entries: Iterable[Logged], sizes: RequestSizes, model: Model) -> list[int]:
    """Estimate each entry; 0 for one that models do not get."""
    found = (message_of(one.entry) for one in entries)
    return [sizes.tokens((message,), model) if message is not None else 0 for message in found]
