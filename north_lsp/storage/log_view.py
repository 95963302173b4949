"""Reads North's log for people: the last events, filtered, one a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from north_lsp.storage.diagnostics_log import LEVELS, Row, in_words
from north_lsp.storage.locations import Locations

MOST_LINES = 5000
_CHUNK = 256 * 1024
_MOST_READ = 32 * 1024 * 1024


def last_events(locations: Locations, lines: int, level: str = "debug", event: str = "") -> list[str]:
    """Return the last events at or above a level whose name begins with `event`, the oldest first. Blocks."""
    lowest = LEVELS.get(level, 0)
    found: list[str] = []
    for raw in _backwards(locations):
        try:
            row = json.loads(raw)
        except ValueError:
            continue
        if not isinstance(row, dict) or LEVELS.get(str(row.get("level")), 2) < lowest:
            continue
        if str(row.get("event")).startswith(event):
            found.append(_line(row))
        if len(found) >= lines:
            break
    return found[::-1]


def _line(row: Row) -> str:
    time = str(row.get("timestamp"))[:19].replace("T", " ")
    parts = [f"{key}={row[key]}" for key in ("turn", "pid") if key in row]
    return f"{time}  {row.get('level')!s:<5}  {' '.join([in_words(row), *parts])}"


def _backwards(locations: Locations) -> Iterator[bytes]:
    """Yield the lines of the newest files, the last one first."""
    budget = _MOST_READ
    for path in (locations.log_file, locations.log_file.with_name(f"{locations.log_file.name}.1")):
        with suppress(OSError):
            for line in _lines_backwards(path):
                budget -= len(line)
                if budget < 0:
                    return
                yield line


def _lines_backwards(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        place, rest = file.seek(0, os.SEEK_END), b""
        while place > 0:
            size = min(_CHUNK, place)
            place -= size
            file.seek(place)
            first, *complete = (file.read(size) + rest).split(b"\n")
            yield from reversed([line for line in complete if line.strip()])
            rest = first
        if rest.strip():
            yield rest
