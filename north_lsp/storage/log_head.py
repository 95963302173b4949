"""The beginning of a long log, read without parsing the rest of it.

Every line is looked at, but only as far as its place in the tree: where that is as North writes it, one entry after the
other, nothing later can change which entries the conversation begins with. Where it is not, there is no head. With a
snapshot (`log_snapshot.py`), only the lines that came after it are looked at, and before it there may be branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.entries import TREE_TYPES
from north_lsp.storage.log_state import LogState, header_problem, normal_header, parse_line
from north_lsp.storage.old_formats import format_of

_ID = rb"[0-9A-Za-z_-]{1,64}"
_ENTRY = lazy_pattern(
    rb'\{"type":"([a-z_]+)","id":"(%b)","parentId":(?:null|"(%b)"),"timestamp":"[^"\\]*"[,}]' % (_ID, _ID)
)
_NOTE = lazy_pattern(
    rb'\{"type":"([a-z_]+)","id":"(%b)","timestamp":"[^"\\]*"(?:,"targetId":"(%b)"(?=[,}])|(?=[,}]))' % (_ID, _ID)
)
_TREE = frozenset(type.encode() for type in TREE_TYPES)
_HARMLESS = frozenset(
    {
        b"label",
        b"queue_changed",
        b"title_changed",
        b"usage_recorded",
        b"archived",
        b"conversation_ended",
        b"secret_index",
        b"roots_changed",
    }
)
"""Annotations that change no entry and move nothing: how a conversation begins does not depend on its further
folders."""


class Place(NamedTuple):
    """What a line is in the log: an entry with its parent, or a note with its target, if it has one."""

    type: bytes
    id: bytes
    parent: bytes | None
    target: bytes | None
    is_entry: bool

    @property
    def is_update(self) -> bool:
        return self.type == b"entry_updated" and self.target is not None

    @property
    def is_harmless(self) -> bool:
        return not self.is_entry and self.type in _HARMLESS


def place_of(line: bytes) -> Place | None:
    """Return what a line is, None if it is not as North writes it."""
    if not line.endswith(b"}\n"):
        return None
    if (found := _ENTRY.match(line)) is not None:
        return Place(found[1], found[2], found[3], None, is_entry=True) if found[1] in _TREE else None
    if (found := _NOTE.match(line)) is not None:
        return Place(found[1], found[2], None, found[3], is_entry=False)
    return None


def begin_state(first: bytes) -> LogState | None:
    """Return the state after the first line of a log of today's format, None for any other."""
    header = parse_line(first)
    if header is None or format_of(header) is not None or header_problem(header) is not None:
        return None
    return LogState(normal_header(header))


def read_head(lines: Iterable[bytes], most: int) -> LogState | None:
    """Return the first entries of a log, at most so many, as all of its lines (with their ends) leave them; None if
    that would take more than a look at each line: for logs of other formats, with branches or moves, or with lines that
    are damaged."""
    lines = iter(lines)
    state = begin_state(next(lines, b""))
    return grow_head(state, (), None, lines, most) if state is not None else None


def grow_head(
    state: LogState, head: Sequence[bytes], leaf: bytes | None, lines: Iterable[bytes], most: int
) -> LogState | None:
    """Return a state with the lines of a `head`, which `leaf` follows in the tree, and of the lines after that what
    belongs to the first entries; None where these lines do more than continue."""
    known = [place for line in head if (place := place_of(line)) is not None]
    ids = {place.id for place in known}
    first = {place.id for place in known if place.is_entry}
    begun: list[bytes] = []
    updates: list[tuple[bytes, bytes]] = []
    for line in lines:
        place = place_of(line)
        if place is None or place.id in ids:
            return None
        ids.add(place.id)
        if place.is_entry:
            if place.parent != leaf:
                return None
            leaf = place.id
            if len(first) < most:
                first.add(leaf)
                begun.append(line)
        elif place.is_update and place.target is not None:
            updates.append((place.target, line))
        elif not place.is_harmless:
            return None
    wanted = [*head, *begun, *(line for target, line in updates if target in first)]
    if any(b"<<$env:S" in line for line in wanted):
        return None  # what stands there is not known yet
    return state if all(_add(state, line) for line in wanted) else None


def _add(state: LogState, line: bytes) -> bool:
    record = parse_line(line)
    if record is None or not isinstance(record.get("id"), str):
        return False
    state.add(record)
    return True
