"""Decides which old results models do without: their texts are replaced by a line, the calls stay paired. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.agent.compaction.limits import Limits
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.transcript import FILE_BLOCK

_KEPT_TOOLS = frozenset({"read_file", "read_around", "skill", "ask", "todo", FILE_BLOCK})
_SMALL = 100
"""The line that takes a result's place has about 15 tokens itself."""


def prunable(context: Sequence[Logged], tokens: Sequence[int], limits: Limits) -> Mapping[str, int]:
    """Return the results to prune, with what each saves; none if that would not be worth a new prefix. `tokens` are
    the sizes of the entries."""
    newest = 0
    found: dict[str, int] = {}
    for one, size in zip(reversed(context), reversed(tokens), strict=True):
        if not isinstance(one.entry, ResultEntry) or one.entry.excluded:
            continue
        newest += size
        if newest > limits.protected_output and one.entry.tool not in _KEPT_TOOLS and size >= _SMALL:
            found[one.id] = size
    return dict(reversed(found.items())) if sum(found.values()) >= limits.least_saving else {}
