"""The summary of a conversation for lists, read from its log, and the same as a row of the index."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from north_lsp.storage.entries import HEADER, VERSION, Record, timestamp
from north_lsp.storage.log_state import parse_line
from north_lsp.storage.old_formats import format_of, today

_NAME_LENGTH = 40
_PROMPT_LENGTH = 200
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_OF_AN_EMPTY_ONE = frozenset(
    {
        HEADER,
        "mode_change",
        "model_change",
        "thinking_level_change",
        "service_tier_change",
        "command_executed",
        "session_moved",
        "conversation_ended",
    }
)
_TITLE_RANK = {"auto": 0, "plan": 1, "user": 2}


@dataclass(frozen=True)
class Summary:
    """One conversation in a list. `repo_root` and `cwd` are the root of the file system if the log does not tell.

    `message_count` counts the messages of user and model; in an empty one, nothing was said or run; `title` and
    `first_prompt` are free of control characters.
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

    @property
    def name(self) -> str:
        """Title, first prompt or id, in at most 40 characters."""
        name = self.title or self.first_prompt or self.id
        return name if len(name) <= _NAME_LENGTH else name[: _NAME_LENGTH - 1] + "…"


@dataclass(frozen=True)
class Row:
    """A summary with the size and time of the file that it was made from."""

    summary: Summary
    size: int
    mtime_ns: int

    def to_json(self) -> dict[str, Any]:
        summary = self.summary
        return {
            "title": summary.title,
            "repoRoot": str(summary.repo_root),
            "repoHash": summary.repo_hash,
            "rootInode": summary.root_inode,
            "cwd": str(summary.cwd),
            "model": summary.model,
            "createdAt": summary.created_at,
            "updatedAt": summary.updated_at,
            "messageCount": summary.message_count,
            "firstPrompt": summary.first_prompt,
            "archived": summary.archived,
            "empty": summary.is_empty,
            "sizeBytes": self.size,
            "mtimeNs": self.mtime_ns,
        }

    @classmethod
    def from_json(cls, id: str, value: object) -> "Row | None":
        """Read a row of the index; None if it is not valid: then the log is read."""
        match value:
            case {
                "title": None | str() as title,
                "repoRoot": str(root),
                "repoHash": None | str() as hash,
                "rootInode": None | int() as inode,
                "cwd": str(cwd),
                "model": None | str() as model,
                "createdAt": str(created),
                "updatedAt": str(updated),
                "messageCount": int(count),
                "firstPrompt": None | str() as prompt,
                "archived": bool(archived),
                "empty": bool(empty),
                "sizeBytes": int(size),
                "mtimeNs": int(mtime),
            }:
                places = (Path(root), Path(cwd))
                summary = Summary(
                    id, title, *places, created, updated, model, count, prompt, archived, hash, inode, empty
                )
                return cls(summary, size, mtime)
            case _:
                return None


def summarize(path: Path) -> Row:
    """Read one log line by line; lines that cannot be read are passed over. Raises OSError."""
    with path.open("rb") as file:
        status = path.stat()
        changed = timestamp(datetime.fromtimestamp(status.st_mtime, UTC))
        nothing = Summary(path.stem, None, Path("/"), Path("/"), changed, changed, None, 0, None, False)
        summary, rank, updated, is_empty = nothing, 0, "", True
        for record in _records(file):
            if record is None:
                is_empty = False
                continue
            is_empty = is_empty and record["type"] in _OF_AN_EMPTY_ONE and record.get("version") in (None, VERSION)
            if record["type"] != "conversation_ended":  # closing an editor does not make a conversation newer
                updated = max(updated, _time(record) or "")
            match record:
                case {"type": "conversation_started" | "session"}:
                    summary = _with_header(summary, record)
                case {"type": "session_moved"}:
                    summary = _moved(summary, record)
                case {"type": "message", "message": {"role": "user" | "assistant" as role} as message}:
                    first = summary.first_prompt or (_prompt(message) if role == "user" else None)
                    summary = replace(summary, message_count=summary.message_count + 1, first_prompt=first)
                case {"type": "model_change", "model": str(model)} if not record.get("temporary"):
                    summary = replace(summary, model=model)
                case {"type": "title_changed", "title": str(title)}:
                    if (new := _TITLE_RANK.get(str(record.get("titleSource")), 0)) >= rank:
                        rank, summary = new, replace(summary, title=_clean(title) or None)
                case {"type": "archived", "archived": bool(archived)}:
                    summary = replace(summary, archived=archived)
    is_empty = is_empty and status.st_size > 0
    return Row(replace(summary, updated_at=updated or changed, is_empty=is_empty), status.st_size, status.st_mtime_ns)


def _records(file: Iterable[bytes]) -> Iterator[Record | None]:
    """Yield the lines, None for those that cannot be read; lines of an old format as if they were of today's."""
    records = (parse_line(line.removeprefix(b"\xef\xbb\xbf")) for line in file)
    header = next(records, None)
    if header is None or (format := format_of(header)) is None:
        yield header
        yield from records
    else:
        yield from today(format, header, (record for record in records if record is not None))


def _with_header(summary: Summary, header: dict[str, Any]) -> Summary:
    model = header.get("model")
    moved = _moved(summary, header)
    return replace(
        moved, created_at=_time(header) or summary.created_at, model=model if isinstance(model, str) else None
    )


def _moved(summary: Summary, record: dict[str, Any]) -> Summary:
    root, hash, cwd = record.get("repoRoot"), record.get("repoHash"), record.get("cwd")
    inode = record.get("rootInode")
    return replace(
        summary,
        repo_root=Path(root) if isinstance(root, str) else summary.repo_root,
        repo_hash=hash if isinstance(hash, str) else summary.repo_hash,
        cwd=Path(cwd) if isinstance(cwd, str) else summary.cwd,
        root_inode=inode if isinstance(inode, int) else None,
    )


def _time(record: dict[str, Any]) -> str | None:
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
