"""Finds in a stored conversation what the model has been shown of files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import Mention, PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.seen import SeenFiles
from north_lsp.workspace.seen import Sighting


def sightings_of(path: Iterable[Logged]) -> dict[Path, Sighting]:
    """Return what the model has seen of each file: its last text, with all ranges that were shown of that."""
    found: dict[Path, Sighting] = {}
    for one in path:
        for seen in _seen(one):
            for name, sighting in seen:
                _add(found, name, sighting)
    return found


def _seen(one: Logged) -> list[SeenFiles]:
    match one.entry:
        case PromptEntry() as prompt:
            return [part.seen for part in prompt.parts if isinstance(part, Mention) and part.seen is not None]
        case ResultEntry(details=details):
            return [details.seen]
        case _:
            return []


def _add(found: dict[Path, Sighting], name: Path, sighting: Sighting | None) -> None:
    before = found.pop(name, None)
    if sighting is None:
        return
    ranges = sighting.ranges
    if before is not None and before.tag == sighting.tag:
        ranges = (*before.ranges, *ranges)
    found[name] = Sighting(sighting.tag, tuple(dict.fromkeys(ranges)))
