"""The summary of a conversation for lists, read from its log: from the beginning, or only what has been added."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.entries import HEADER, VERSION, Record, timestamp
from north_lsp.storage.log_state import parse_line
from north_lsp.storage.old_formats import format_of, today

_NAME_LENGTH = 40
_PROMPT_LENGTH = 200
_TAIL_BYTES = 4096
_HIDDEN = lazy_pattern("[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]+")
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_OF_AN_EMPTY_ONE = frozenset(
    {
        HEADER,
        "mode_change",
        "model_change",
        "thinking_level_change",
        "service_tier_change",
        "command_executed",
        "session_moved",
        "roots_changed",
        "conversation_ended",
    }
)
_TITLE_RANK = {"auto": 0, "plan": 1, "user": 2}


@dataclass(slots=True)
class Summary:
    """One conversation in a list. `repo_root` and `cwd` are the root of the file system if the log does not tell.

    `message_count` counts the messages of user and model; in an empty one, nothing was said or run; `title` and
    the prompts are free of control characters; `parent` is the conversation that it was made from; `further_roots` are
    the folders that it had besides its own when it was opened last.
    """

    id: str
    title: str | None
    repo_root: Path
    cwd: Path
    created_at: str
    updated_at: str
    model: str | None
    message_count: int
    first_prompt: str | None
    archived: bool
    repo_hash: str | None = None
    root_inode: int | None = None
    is_empty: bool = False
    title_source: str | None = None
    last_prompt: str | None = None
    cost_usd: float = 0.0
    parent: str | None = None
    ended: bool = False
    further_roots: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """Title, first prompt or id, in at most 40 characters."""
        name = self.title or self.first_prompt or self.id
        return name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…"

    @property
    def model_name(self) -> str:
        """The model without its provider; empty if it is unknown."""
        return (self.model or "").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Reading:
    """A summary, and which state of the file it was made from. `tail` is a checksum of the last bytes read: None if the
    file must be read from its beginning next time. Size and time are -1 for a file that cannot be read."""

    summary: Summary
    size: int
    mtime_ns: int
    tail: int | None


def summarize(path: Path, known: Reading | None = None) -> Reading:
    """Read one log line by line; lines that cannot be read are skipped. Of a log that has only grown since `known` no
    more than the new lines is read. Raises OSError."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        changed = timestamp(datetime.fromtimestamp(status.st_mtime, UTC))
        start = grown_from(file, known.size, known.tail, status.st_size) if known is not None else 0
        if known is not None and start:
            summary = replace(known.summary)
        else:
            summary = Summary(path.stem, None, Path("/"), Path("/"), changed, "", None, 0, None, False, is_empty=True)
        lines = Lines(file, start)
        for record in lines:
            _add(summary, record)
        if not summary.updated_at:
            summary.updated_at = changed
        summary.is_empty = summary.is_empty and status.st_size > 0
        return Reading(summary, status.st_size, status.st_mtime_ns, lines.tail(status.st_size))


def grown_from(file: BinaryIO, size: int, tail: int | None, now: int) -> int:
    """Return where to continue in a log of which the first `size` bytes are known; 0 if it is not the same file any
    more. Leaves the file there."""
    if tail is not None and 0 < size <= now:
        file.seek(max(0, size - _TAIL_BYTES))
        if zlib.crc32(file.read(min(size, _TAIL_BYTES))) == tail:
            return size
    file.seek(0)
    return 0


class Lines:
    """The lines of a log from a place on, None for those that cannot be read; lines of an old format as if they were of
    today's."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file = file
        self._start = start
        self._goes_on = True

    def __iter__(self) -> Iterator[Record | None]:
        records = (parse_line(line) for line in self._read())
        if self._start:
            yield from records
            return
        header = next(records, None)
        if header is None or (format := format_of(header)) is None:
            yield header
            yield from records
        else:
            self._goes_on = False
            yield from today(format, header, (record for record in records if record is not None))

    def tail(self, size: int) -> int | None:
        """Return the checksum that lets the reading continue after `size` bytes, all of which must have been read."""
        if not self._goes_on or self._file.tell() != size:
            return None
        self._file.seek(max(0, size - _TAIL_BYTES))
        end = self._file.read(_TAIL_BYTES)
        return zlib.crc32(end) if end.endswith(b"\n") else None

    def _read(self) -> Iterator[bytes]:
        first = not self._start
        while line := self._file.readline():
            yield line.removeprefix(b"\xef\xbb\xbf") if first else line
            first = False


def _add(summary: Summary, record: Record | None) -> None:
    if record is None:
        summary.is_empty = False
        return
    kind = record["type"]
    if summary.is_empty and (kind not in _OF_AN_EMPTY_ONE or record.get("version") not in (None, VERSION)):
        summary.is_empty = False
    summary.ended = kind == "conversation_ended"
    if not summary.ended and kind != "roots_changed":  # opening and closing it does not make a conversation newer
        summary.updated_at = max(summary.updated_at, _time(record) or "")
    match record:
        case {"type": "conversation_started" | "session"}:
            _take_header(summary, record)
        case {"type": "session_moved"}:
            _move(summary, record)
        case {"type": "roots_changed"}:
            summary.further_roots = _roots(record)
        case {"type": "message", "message": {"role": "user" | "assistant" as role} as message}:
            summary.message_count += 1
            by_user = role == "user" and message.get("attribution") != "north"
            if by_user and (prompt := _prompt(message)) is not None:
                summary.first_prompt = summary.first_prompt or prompt
                summary.last_prompt = prompt
            summary.cost_usd += _cost(message.get("usage"))
            summary.model = summary.model or _answered_by(message)
        case {"type": "usage_recorded"}:
            summary.cost_usd += _cost(record) or _cost(record.get("usage"))
        case {"type": "model_change", "model": str(model)} if not record.get("temporary"):
            summary.model = model
        case {"type": "title_changed", "title": str(title)}:
            source = str(record.get("titleSource"))
            if _TITLE_RANK.get(source, 0) >= _TITLE_RANK.get(summary.title_source or "", 0):
                summary.title, summary.title_source = _clean(title) or None, source if source in _TITLE_RANK else "auto"
        case {"type": "archived", "archived": bool(archived)}:
            summary.archived = archived


def _answered_by(message: dict[str, Any]) -> str | None:
    """Return the model that wrote a message, for logs that name none at their beginning."""
    match message:
        case {"provider": str(provider), "model": str(model)} if model:
            return f"{provider}/{model}"
        case _:
            return None


def _cost(record: object) -> float:
    """Return the US dollars in `cost`, a number or an object with a `total`."""
    cost = record.get("cost") if isinstance(record, dict) else None
    total = cost.get("total") if isinstance(cost, dict) else cost
    return float(total) if isinstance(total, int | float) and not isinstance(total, bool) else 0.0


def _take_header(summary: Summary, header: Record) -> None:
    _move(summary, header)
    summary.further_roots = _roots(header)
    model, parent = header.get("model"), header.get("parentSession")
    summary.created_at = _time(header) or summary.created_at
    summary.model = model if isinstance(model, str) else None
    parent = parent.get("id") if isinstance(parent, dict) else parent
    summary.parent = parent if isinstance(parent, str) else None


def _move(summary: Summary, record: Record) -> None:
    root, hash, cwd = record.get("repoRoot"), record.get("repoHash"), record.get("cwd")
    inode = record.get("rootInode")
    summary.repo_root = Path(root) if isinstance(root, str) else summary.repo_root
    summary.repo_hash = hash if isinstance(hash, str) else summary.repo_hash
    summary.cwd = Path(cwd) if isinstance(cwd, str) else summary.cwd
    summary.root_inode = inode if isinstance(inode, int) else None


def _roots(record: Record) -> tuple[Path, ...]:
    found = record.get("roots")
    return tuple(Path(one) for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def _time(record: Record) -> str | None:
    value = record.get("timestamp")
    return value if isinstance(value, str) and _TIME.fullmatch(value) else None


def _prompt(message: dict[str, Any]) -> str | None:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list):
        return None
    texts = (part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text")
    return _clean(" ".join(text for text in texts if isinstance(text, str)))[:_PROMPT_LENGTH] or None


def _clean(text: str) -> str:
    return " ".join(_HIDDEN.sub(" ", text).split())
