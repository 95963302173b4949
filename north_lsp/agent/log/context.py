"""What of a path models get: the last summary in place of what it replaces, and results without pruned texts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from north_lsp.agent.log.compactions import CompactionEntry, PrunedEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.results import ResultEntry
from north_lsp.providers.base import Image, Text


def shortens(logged: Logged) -> bool:
    """Tell whether an entry changes what models get of those before it."""
    return isinstance(logged.entry, CompactionEntry | PrunedEntry)


def context_of(path: Sequence[Logged]) -> list[Logged]:
    """Return the entries that models get: the last summary, then what was kept before it, then what came after it."""
    pruned = _pruned(path)
    whole = unpruned_context_of(path)
    return [_without_text(one, pruned) for one in whole] if pruned else whole


def unpruned_context_of(path: Sequence[Logged]) -> list[Logged]:
    """Return the same entries with the whole texts of all results."""
    at = _last_summary(path)
    if at is None:
        return list(path)
    kept = [one for one in path[_first_kept(path, at) : at] if not isinstance(one.entry, CompactionEntry)]
    return [path[at], *kept, *path[at + 1 :]]


def replaced_by(path: Sequence[Logged], entry_id: str) -> Sequence[Logged]:
    """Return the entries that the summary with this id replaced: those that models got until then, but for the
    summary before it. Raises ValueError if there is no such summary on the path."""
    at = next((at for at, one in enumerate(path) if one.id == entry_id), None)
    if at is None or not isinstance(path[at].entry, CompactionEntry):
        raise ValueError("there is no such summary in this conversation")
    earlier = _last_summary(path[:at])
    begin = _first_kept(path, earlier) if earlier is not None else 0
    return [one for one in path[begin : _first_kept(path, at)] if not isinstance(one.entry, CompactionEntry)]


def _last_summary(path: Sequence[Logged]) -> int | None:
    return next((at for at in range(len(path) - 1, -1, -1) if isinstance(path[at].entry, CompactionEntry)), None)


def _first_kept(path: Sequence[Logged], at: int) -> int:
    """Return where the kept entries begin; at the summary itself if none is."""
    entry = path[at].entry
    assert isinstance(entry, CompactionEntry)
    return next((index for index in range(at) if path[index].id == entry.first_kept), at)


def _pruned(path: Sequence[Logged]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for one in path:
        if isinstance(one.entry, PrunedEntry):
            found.update(one.entry.results)
    return found


def _without_text(logged: Logged, pruned: Mapping[str, int]) -> Logged:
    if logged.id not in pruned or not isinstance(logged.entry, ResultEntry):
        return logged
    tokens = pruned[logged.id]
    about = f", about {tokens:,} tokens" if tokens else ""
    left: tuple[Text | Image, ...] = (Text(f"[older output removed{about}]"),)
    details = replace(logged.entry.details, seen=())
    return replace(logged, entry=replace(logged.entry, content=Content(left), details=details))
