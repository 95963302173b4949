"""The beginning of a long log, read without parsing the rest of it.

Every line is looked at, but only as far as its place in the tree: where that is as North writes it, one entry after the
other, nothing later can change which entries the conversation begins with. Where it is not, there is no head.
"""

from collections.abc import Iterable

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
    }
)
"""Annotations that change no entry and move nothing."""


def read_head(lines: Iterable[bytes], most: int) -> LogState | None:
    """Return the first entries of a log, at most so many, as all of its lines (with their ends) leave them; None if
    that would take more than a look at each line: for logs of other formats, with branches or moves, or with lines that
    are damaged."""
    lines = iter(lines)
    header = parse_line(next(lines, b""))
    if header is None or format_of(header) is not None or header_problem(header) is not None:
        return None
    state, ids = LogState(normal_header(header)), set[bytes]()
    entries: list[bytes] = []
    updates: list[tuple[bytes, bytes]] = []
    leaf: bytes | None = None
    for line in lines:
        if (found := _ENTRY.match(line)) is not None:
            if found[3] != leaf or found[1] not in _TREE:
                return None
            leaf = found[2]
            if len(entries) < most:
                if b"<<$env:S" in line:
                    return None  # what stands there is not known yet
                entries.append(line)
        elif (found := _NOTE.match(line)) is None:
            return None
        elif found[1] == b"entry_updated" and found[3] is not None:
            updates.append((found[3], line))
        elif found[1] not in _HARMLESS:
            return None
        if found[2] in ids or not line.endswith(b"}\n"):
            return None
        ids.add(found[2])
    return state if all(_add(state, line) for line in [*entries, *_of(updates, entries)]) else None


def _of(updates: list[tuple[bytes, bytes]], entries: list[bytes]) -> list[bytes]:
    """Return the updates of these entries, in order."""
    ids = {found[2] for line in entries if (found := _ENTRY.match(line)) is not None}
    return [line for target, line in updates if target in ids]


def _add(state: LogState, line: bytes) -> bool:
    record = parse_line(line)
    if record is None or not isinstance(record.get("id"), str):
        return False
    state.add(record)
    return True
