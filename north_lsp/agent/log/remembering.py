"""What the model has been shown of files, written into the log and read from it again."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from north_lsp.agent.log.transcript import Entry
from north_lsp.storage.entries import message_of
from north_lsp.tools.base import Noted, Sighting


def noted_to_log(noted: Noted) -> list[list[object]]:
    """Rows of path, tag (None for a file that is gone) and ranges."""
    return [
        [
            str(path),
            one.tag if one is not None else None,
            [list(pair) for pair in one.ranges] if one is not None else [],
        ]
        for path, one in noted.items()
    ]


def sightings_of(path: Iterable[Entry]) -> dict[Path, Sighting]:
    """What the entries of an active path say was shown; the last text of a file counts, and all its ranges."""
    found: dict[Path, Sighting] = {}
    for entry in path:
        message = message_of(entry)
        parts = [part for part in message.get("content") or () if isinstance(part, Mapping)]
        for holder in (*parts, message.get("details")):
            rows = holder.get("seen") if isinstance(holder, Mapping) else None
            for row in rows if isinstance(rows, list) else ():
                _add(found, row)
    return found


def _add(found: dict[Path, Sighting], row: Any) -> None:
    match row:
        case [str(name), None, _]:
            found.pop(Path(name), None)
        case [str(name), str(tag), list(pairs)]:
            ranges = tuple((a, b) for a, b in _pairs(pairs))
            before = found.pop(Path(name), None)
            if before is not None and before.tag == tag:
                ranges = (*before.ranges, *ranges)
            found[Path(name)] = Sighting(tag, tuple(dict.fromkeys(ranges)))


def _pairs(pairs: list[Any]) -> Iterable[tuple[int, int]]:
    for pair in pairs:
        match pair:
            case [int(first), int(last)]:
                yield first, last
