"""Where the beginning of a long conversation is in its log, kept beside it (`<id>.snapshot.json`).

The log remains the only source of truth: a snapshot has places of lines, none of their contents, and counts only for a
log that still begins with what it was made of. It may be lost at any time.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import json_bytes, read_json, write_atomic
from north_lsp.storage.log_head import Place, begin_state, grow_head, place_of, read_head
from north_lsp.storage.log_state import LogState, parse_line
from north_lsp.storage.room import leave_room

LEAST_BYTES = 1_000_000
"""What is shorter is read at once."""
_VERSION = 1
_TAIL_BYTES = 4096
_MOST_ENTRIES = 100
_MOST_UPDATES = 1000


@dataclass(frozen=True)
class Snapshot:
    """What the first `log_bytes` bytes of a log add up to: its leaf, and the lines (where they begin, and their length)
    that make the first entries of the active path what they are. `tail` is the digest of the last of these bytes."""

    log_bytes: int
    tail: str
    leaf: str | None
    lines: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, object]:
        """Return what is stored."""
        return {
            "version": _VERSION,
            "logBytes": self.log_bytes,
            "logSha256OfLast4KiB": self.tail,
            "leafId": self.leaf,
            "lines": [list(line) for line in self.lines],
        }


def snapshot_path(log: Path) -> Path:
    return log.with_suffix(".snapshot.json")


def keep_snapshot(log: Path) -> bool:
    """Write the snapshot of a long log; returns whether there is one now. Raises OSError."""
    if os.stat(log).st_size < LEAST_BYTES:
        return False
    leave_room(log.parent)
    with log.open("rb") as file:
        snapshot = take_snapshot(file)
    if snapshot is None:
        with suppress(FileNotFoundError):
            snapshot_path(log).unlink()
        return False
    write_atomic(snapshot_path(log), json_bytes(snapshot.to_json()))
    return True


def read_beginning(log: Path, most: int) -> LogState | None:
    """Return the first entries of the active path of a long log, at most so many; None for a short one, and where they
    are not certain without reading all of it. Raises OSError."""
    with log.open("rb", LEAST_BYTES) as file:
        if os.fstat(file.fileno()).st_size < LEAST_BYTES:
            return None
        snapshot = read_snapshot(snapshot_path(log))
        if snapshot is not None and (state := read_with(snapshot, file, most)) is not None:
            return state
        file.seek(0)
        return read_head(file, most)


def read_with(snapshot: Snapshot, log: BinaryIO, most: int) -> LogState | None:
    """Return the first entries of a log; None if the snapshot is not of this log, or what came later does more than
    continue."""
    if _tail(log, snapshot.log_bytes) != snapshot.tail:
        return None
    log.seek(0)
    state, head = begin_state(log.readline()), _head(snapshot, log, min(most, _MOST_ENTRIES))
    if state is None or head is None:
        return None
    log.seek(snapshot.log_bytes)
    leaf = snapshot.leaf.encode() if snapshot.leaf is not None else None
    return grow_head(state, head, leaf, log, min(most, _MOST_ENTRIES))


def _head(snapshot: Snapshot, log: BinaryIO, most: int) -> list[bytes] | None:
    """Return the lines of a snapshot that the first entries are made of, None if they are not what they should be."""
    found: list[bytes] = []
    ids = set[bytes]()
    last: bytes | None = None
    for start, length in snapshot.lines:
        if start + length > snapshot.log_bytes:
            return None
        log.seek(start)
        place = place_of(line := log.read(length))
        if place is None or (place.is_entry and place.parent != last):
            return None
        if place.is_entry:
            last = place.id
            if len(ids) < most:
                ids.add(last)
                found.append(line)
        elif place.target is None or place.target in ids:
            found.append(line)
    return found


def read_snapshot(path: Path) -> Snapshot | None:
    """Return a stored snapshot; None if there is none that can be read."""
    try:
        content = read_json(path)
    except (OSError, ValueError):
        return None
    match content:
        case {
            "version": 1,
            "logBytes": int(log_bytes),
            "logSha256OfLast4KiB": str(tail),
            "leafId": str() | None as leaf,
            "lines": list(rows),
        }:
            lines = tuple((start, length) for row in rows if (place := _line(row)) for start, length in [place])
            return Snapshot(log_bytes, tail, leaf, lines) if len(lines) == len(rows) else None
        case _:
            return None


def _line(row: object) -> tuple[int, int] | None:
    match row:
        case [int(start), int(length)] if start >= 0 and length > 0:
            return start, length
        case _:
            return None


def take_snapshot(log: BinaryIO) -> Snapshot | None:
    """Make the snapshot of a log as it is; None for one of another format, or with lines that are not as North writes
    them."""
    first = log.readline()
    if begin_state(first) is None:
        return None
    walk = _Walk()
    at = len(first)
    for line in log:
        place = place_of(line)
        if place is None or not walk.add(place, line, (at, len(line))):
            return None
        at += len(line)
    lines = walk.beginning()
    tail = _tail(log, at)
    leaf = walk.leaf.decode() if walk.leaf is not None else None
    return Snapshot(at, tail, leaf, lines) if lines is not None and tail is not None else None


class _Walk:
    """Walks through a log and notes the offsets of its entries, and of what changes them."""

    def __init__(self) -> None:
        self.leaf: bytes | None = None
        self._ids = set[bytes]()
        self._entries: dict[bytes, tuple[bytes | None, tuple[int, int]]] = {}
        self._updates: list[tuple[bytes, tuple[int, int]]] = []
        self._moves: list[tuple[int, int]] = []

    def add(self, place: Place, line: bytes, where: tuple[int, int]) -> bool:
        """Take over a line; returns False for one that cannot be told by its place alone."""
        if place.id in self._ids:
            return False
        self._ids.add(place.id)
        if place.is_entry:
            if place.parent is not None and place.parent not in self._entries:
                return False
            self._entries[place.id] = place.parent, where
            self.leaf = place.id
            return True
        if place.is_update and place.target is not None:
            self._updates.append((place.target, where))
            return True
        if place.type == b"leaf_moved":
            return self._move(line)
        if place.type == b"session_moved":
            self._moves.append(where)
            return True
        return place.is_harmless

    def _move(self, line: bytes) -> bool:
        leaf = (parse_line(line) or {}).get("leafId")
        self.leaf = leaf.encode() if isinstance(leaf, str) else None
        return leaf is None or self.leaf in self._entries

    def beginning(self) -> tuple[tuple[int, int], ...] | None:
        """Return the lines that make the first entries of the active path, in the order of the log, but for what is
        about another folder, which comes first; None if they are too many."""
        path: list[bytes] = []
        at = self.leaf
        while at is not None:
            path.append(at)
            at = self._entries[at][0]
        first = path[::-1][:_MOST_ENTRIES]
        wanted = set(first)
        updates = [where for target, where in self._updates if target in wanted]
        lines = (*self._moves, *(self._entries[id][1] for id in first), *updates)
        return lines if len(self._moves) + len(updates) <= _MOST_UPDATES else None


def _tail(log: BinaryIO, size: int) -> str | None:
    """Return the digest of the last bytes of the first `size` bytes; None if there are not so many."""
    start = max(0, size - _TAIL_BYTES)
    log.seek(start)
    data = log.read(size - start)
    return sha256(data).hexdigest() if size >= 0 and len(data) == size - start else None
