"""The state that the lines of a log add up to. The same function applies lines that were read and new ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import ANNOTATION_TYPES, HEADER, TREE_TYPES, VERSION, Record
from north_lsp.storage.messages import repaired
from north_lsp.storage.old_formats import format_of, id_of_line, today
from north_lsp.storage.records import storable

_TITLE_RANK = {"auto": 0, "plan": 1, "user": 2}
LEFT = "left"
"""The reason of an end in the middle of a turn that the next process can go on with."""
_OF_A_MOVE = ("repoRoot", "repoHash", "cwd", "rootInode")
_OF_THE_QUEUE = ("id", "kind", "mode", "text")
_FIXED = frozenset({"type", "id", "parentId", "timestamp"})


class Known(NamedTuple):
    """How much of a conversation somebody has read."""

    branchings: int
    entries: int
    changes: int


class Growth(NamedTuple):
    """What is new in a conversation: entries in the order in which they were written, and earlier ones that have
    changed. Without `on_path` all new ones are on the path, and otherwise these; then `entries` are all there are."""

    known: Known
    entries: list[Record]
    changed: list[Record]
    on_path: set[str] | None


class LogState:
    """A conversation in memory: `entries` in the order of the file, `leaf` where the next one attaches."""

    def __init__(self, header: Record) -> None:
        self.header = header
        self.entries: list[Record] = []
        self.by_id: dict[str, Record] = {}
        self.annotations: list[Record] = []
        self.ids: set[str] = set()
        self.leaf: str | None = None
        self.title: str | None = None
        self.title_source = "auto"
        self.labels: dict[str, str] = {}
        self.archived = False
        self.was_left = False
        """The last process to write it left a turn that the next one can go on with."""
        self.repo_hashes = {str(header["repoHash"])} if header.get("repoHash") is not None else set()
        self.queue: list[dict[str, str]] = []
        self.used_aside: list[Record] = []
        """What was used by requests that are no part of a turn."""
        self.warnings: list[str] = []
        self.read_only_reason: str | None = None
        self.former: list[Record] | None = None
        """All lines of a log of another format, in today's: it must be rewritten before it is continued."""
        self.unreadable: list[tuple[str | None, bytes]] = []
        """Its lines that cannot be read, each with the id of the one before it: they stay where they are."""
        self.revision = 0  # counts the changes of the active path other than growing
        self.branchings = 0  # counts those by which other entries are on it
        self.changed: list[str] = []  # the entries that were changed in place, in that order
        self._path: list[Record] | None = []
        self._pending: dict[str, Record] = {}

    def add(self, record: Record) -> None:
        """Apply a tree entry or an annotation; what is wrong with one becomes a warning."""
        id = record["id"]
        if id in self.ids:
            # A batch was written twice. The first one counts, whatever the second says.
            self.warn(f"the id {id} occurs twice in the log; the first entry counts")
            return
        self.ids.add(id)
        if self.former is not None:
            self.former.append(record)
        if is_tree_entry(record):
            if self._path is not None and record.get("parentId") == self.leaf:
                self._path.append(record)
            else:
                self._branch()
            self.entries.append(record)
            self.by_id[id] = record
            self._note_review(record)
            self.leaf = id
            self.was_left = False
            if isinstance(delivered := record.get("fromQueue"), list):
                self.queue = [row for row in self.queue if row["id"] not in delivered]
        else:
            self.annotations.append(record)
            self._annotate(record)

    def active_path(self, known: int = 0) -> list[Record]:
        """Return the entries from the root to the leaf, but for the first ones that are `known`. A missing parent
        counts as the root; a cycle ends the path. Both give a warning."""
        if self._path is None:
            self._path = self.path_to(self.leaf)
        return self._path[known:]

    def growth(self, known: Known | None) -> Growth:
        """Return what is new since as much was read as is `known`; all there is, if other entries are on the path by
        now."""
        now = Known(self.branchings, len(self.entries), len(self.changed))
        if known is None or known.branchings != now.branchings:
            return Growth(now, list(self.entries), [], {entry["id"] for entry in self.active_path()})
        changed = [self.by_id[id] for id in dict.fromkeys(self.changed[known.changes :])]
        return Growth(now, self.entries[known.entries :], changed, None)

    def _branch(self) -> None:
        self._path = None
        self.revision += 1
        self.branchings += 1

    def path_to(self, id: str | None) -> list[Record]:
        """Return the entries from a root to this one; what is wrong on the way becomes a warning."""
        path: list[Record] = []
        seen: set[str] = set()
        entry = self.by_id.get(id or "")
        while entry is not None:
            if entry["id"] in seen:
                self.warn(f"the entries before {entry['id']} form a cycle")
                break
            seen.add(entry["id"])
            path.append(entry)
            parent = entry.get("parentId")
            entry = self.by_id.get(parent) if isinstance(parent, str) else None
            if entry is None and parent is not None:
                self.warn(f"the entries before {path[-1]['id']} are missing")
        return path[::-1]

    def pending_reviews(self) -> list[Record]:
        """Return the reviews that are still pending and whose question cannot be asked again later."""
        return list(self._pending.values())

    def update_problem(self, target_id: object, patch: object) -> str | None:
        """Return why an `entry_updated` cannot be applied, or None."""
        target = self.by_id.get(target_id) if isinstance(target_id, str) else None
        if target is None:
            return f"there is no entry {target_id!r}"
        if not isinstance(patch, Mapping) or _FIXED & patch.keys():
            return f"not a valid change of the entry {target_id}"
        match target["type"]:
            case "review" | "checkpoint":
                return None
            case "message" if patch.keys() <= {"excludeFromContext"} and isinstance(target.get("message"), dict):
                return None
            case type:
                return f"entries of type {type} do not change"

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def _annotate(self, record: Record) -> None:
        match record["type"]:
            case "entry_updated":
                self._update(record.get("targetId"), record.get("patch"))
            case "leaf_moved":
                leaf = record.get("leafId")
                if leaf is None or (isinstance(leaf, str) and leaf in self.by_id):
                    self.leaf = leaf
                    self._branch()
                else:
                    self.warn(f"the leaf was moved to an unknown entry {leaf!r}")
            case "title_changed":
                title, source = record.get("title"), str(record.get("titleSource"))
                if isinstance(title, str) and _TITLE_RANK.get(source, 0) >= _TITLE_RANK.get(self.title_source, 0):
                    self.title, self.title_source = title, source
            case "queue_changed":
                words = record.get("words")
                rows = [row for row in words if isinstance(row, dict)] if isinstance(words, list) else []
                self.queue = [row for row in rows if all(isinstance(row.get(key), str) for key in _OF_THE_QUEUE)]
            case "conversation_ended":
                self.was_left = record.get("reason") == LEFT
            case "usage_recorded":
                self.used_aside.append(record)
            case "archived":
                self.archived = record.get("archived") is True
            case "session_moved":
                self.header |= {key: record[key] for key in _OF_A_MOVE if key in record}
                self.repo_hashes.add(str(record.get("repoHash")))
            case "roots_changed":
                self.header["roots"] = record.get("roots")
            case "label":
                self._label(str(record.get("targetId")), record.get("label"))
            case _:
                pass

    def _label(self, target: str, label: object) -> None:
        if target not in self.by_id:
            self.warn(f"a label refers to an unknown entry {target!r}")
        elif isinstance(label, str) and label:
            self.labels[target] = label
        else:
            self.labels.pop(target, None)

    def _update(self, target_id: object, patch: object) -> None:
        if (problem := self.update_problem(target_id, patch)) is not None:
            self.warn(f"a change was not applied: {problem}")
            return
        assert isinstance(target_id, str)
        assert isinstance(patch, dict)
        self.revision += 1
        self.changed.append(target_id)
        target = self.by_id[target_id]
        (target["message"] if target["type"] == "message" else target).update(patch)
        self._note_review(target)

    def _note_review(self, entry: Record) -> None:
        if entry["type"] != "review":
            return
        if entry.get("status") == "pending" and entry.get("kind") != "learning":
            self._pending[entry["id"]] = entry
        else:
            self._pending.pop(entry["id"], None)


def is_tree_entry(record: Mapping[str, Any]) -> bool:
    """Tell whether a line is an entry of the tree, else an annotation; unknown types are told apart by `parentId`."""
    return record["type"] not in ANNOTATION_TYPES and ("parentId" in record or record["type"] in TREE_TYPES)


@dataclass(frozen=True)
class ReadLog:
    """A log as it was read: its state, its lines in today's format without the header, how many could not be read, and
    whether a newer North wrote it."""

    state: LogState
    records: list[Record]
    left_out: int
    is_newer: bool


def read_state(data: bytes) -> LogState:
    """Read a log leniently, line by line. What keeps it from being continued goes to `read_only_reason`."""
    return read_log(data).state


def read_log(data: bytes) -> ReadLog:
    """Read a log as `read_state` does, and keep its lines."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    header = parse_line(lines[0])
    last = len(lines) - 1
    format, torn = format_of(header), False
    records, unreadable = [], [] if header is not None else [1]
    kept: list[tuple[str | None, bytes]] = []
    for number, line in enumerate(lines[1:], start=1):
        if not line.strip():
            continue
        record = parse_line(line)
        if record is not None and (isinstance(record.get("id"), str) or format is not None):
            records.append(record)
        elif number == last:
            torn = True
        else:
            unreadable.append(number + 1)
            kept.append((id_of_line(records[-1], len(records) - 1) if records else None, line))
    readable = int(header is not None) + len(records)
    if header is not None and format is not None:
        header, *records = [
            repaired(one) if one["type"] == "message" else one for one in today(format, header, records)
        ]
    state = LogState(normal_header(header or {}))
    if format is not None:
        state.former, state.unreadable = [state.header], kept
    state.read_only_reason = header_problem(header)
    for record in records:
        state.add(record)
    if torn:
        state.warn("the last line was cut off and is left out")
    if unreadable:
        first, more = unreadable[0], len(unreadable)
        many = f"{more} lines cannot be read and are left out, the first is line {first}"
        state.warn(many if more > 1 else f"line {first} cannot be read and is left out")
    if state.read_only_reason is None and len(unreadable) > readable:
        count = readable + len(unreadable)
        state.read_only_reason = f"{len(unreadable)} of its {count} lines cannot be read, from line {unreadable[0]} on"
    is_newer = header is not None and header["type"] == HEADER and _version(header) > VERSION
    return ReadLog(state, records, len(unreadable) + torn, is_newer)


def _version(header: Record) -> int:
    version = header.get("version")
    return version if isinstance(version, int) else 0


def appended(data: bytes) -> tuple[list[Record], int] | None:
    """Read lines that were appended to a log; returns them, and how many bytes they are. None if one cannot be read:
    then the whole log must be read."""
    whole = data.rpartition(b"\n")[0]
    records = [parse_line(line) for line in whole.split(b"\n") if line.strip()]
    read = [record for record in records if record is not None and isinstance(record.get("id"), str)]
    return (read, len(whole) + 1 if whole else 0) if len(read) == len(records) else None


def parse_line(line: bytes) -> Record | None:
    """Parse a line into an object with a type, or None. A line of type `message` gets a `message` object."""
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return None
    # Other programs escape surrogates, and a lone one can neither be shown nor sent.
    record: Record = storable(value) if b"\\ud" in line or b"\\uD" in line else value
    if not isinstance(record.get("parentId"), str | None):
        record["parentId"] = None
    return repaired(record) if record["type"] == "message" else record


def normal_header(header: Record) -> Record:
    parent = header.get("parentSession")
    return header | {"parentSession": {"id": parent}} if isinstance(parent, str) else header


def header_problem(header: Record | None) -> str | None:
    """Return why a log with this first line cannot be continued, or None."""
    match header:
        case {"type": "conversation_started", "version": int(version)} if version == VERSION:
            return None
        case {"type": "conversation_started", "version": int(version)} if version > VERSION:
            return f"a newer North wrote it (format {version}; this one supports {VERSION})"
        case {"type": "conversation_started" | "session"}:
            return "its format is unknown to this North"
        case _:
            return f"line 1 of the log is not a {HEADER} line"
