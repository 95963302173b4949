"""Stores in the log which parts of files the model has been shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from north_lsp.agent.log.fields import as_list
from north_lsp.workspace.seen import Noted, Sighting

SeenFiles = tuple[tuple[Path, Sighting | None], ...]
"""In the order in which the files were shown; None for a file that is gone."""


def seen_of(noted: Noted) -> SeenFiles:
    return tuple(noted.items())


def seen_to_json(seen: SeenFiles) -> list[list[object]]:
    """Return rows of path, tag (None for a file that is gone) and ranges."""
    return [
        [
            str(path),
            one.tag if one is not None else None,
            [list(pair) for pair in one.ranges] if one is not None else [],
        ]
        for path, one in seen
    ]


def seen_from_json(stored: object) -> SeenFiles:
    return tuple(_rows(stored))


def _rows(stored: object) -> Iterator[tuple[Path, Sighting | None]]:
    for row in as_list(stored):
        match row:
            case [str(name), None, _]:
                yield Path(name), None
            case [str(name), str(tag), list(pairs)]:
                yield Path(name), Sighting(tag, tuple(_pairs(pairs)))


def _pairs(pairs: list[object]) -> Iterator[tuple[int, int]]:
    for pair in pairs:
        match pair:
            case [int(first), int(last)]:
                yield first, last
