"""The entries that record what files held before and after a change."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from north_lsp.agent.log.fields import FIXED, Json, as_text, unknown
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.proposal import Action

Status = Literal["pending", "applied", "failed", "undone"]
_BLOB = "blob:sha256:"
_KEYS = FIXED | {"checkpointId", "title", "files", "status", "toolCallId", "folders"}
_FILE_KEYS = frozenset(
    {
        "path", "relative", "action", "before", "after", "beforeMode", "newPath", "newRelative", "irrecoverable",
        "linesAdded", "linesRemoved", "undoes", "afterMode", "folder",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file in a checkpoint. `before` and `after` are digests, None if there was no file; `undoes` are the
    checkpoints whose change of this file was undone. A `folder` (an empty one) has neither digest."""

    path: Path
    relative: str
    action: Action
    before: str | None
    after: str | None
    before_mode: int | None = None
    new_path: Path | None = None
    new_relative: str | None = None
    irrecoverable: bool = False
    lines_added: int = 0
    lines_removed: int = 0
    undoes: tuple[str, ...] = ()
    after_mode: int | None = None
    folder: bool = False
    more: Json = field(default_factory=dict)

    @property
    def target(self) -> Path:
        return self.new_path or self.path

    @classmethod
    def from_json(cls, row: Json) -> FileRecord:
        """Read a row of the log. Raises KeyError, TypeError, ValueError or AttributeError if it is malformed."""
        path = Path(row["path"])
        before, after, mode, moved = row["before"], row["after"], row.get("beforeMode"), row.get("newPath")
        after_mode = row.get("afterMode")
        action = row["action"]
        if action not in get_args(Action):
            raise ValueError(action)
        return cls(
            path,
            str(row.get("relative", path.name)),
            action,
            str(before).removeprefix(_BLOB) if before is not None else None,
            str(after) if after is not None else None,
            mode if isinstance(mode, int) else None,
            Path(moved) if isinstance(moved, str) else None,
            str(row["newRelative"]) if isinstance(moved, str) else None,
            row.get("irrecoverable") is True,
            int(row.get("linesAdded", 0)),
            int(row.get("linesRemoved", 0)),
            tuple(str(id) for id in row.get("undoes", ())),
            after_mode if isinstance(after_mode, int) else None,
            row.get("folder") is True,
            unknown(row, _FILE_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"path": str(self.path), "relative": self.relative, "action": self.action}
        row["before"] = None if self.before is None else _BLOB + self.before
        row |= {"after": self.after, "beforeMode": self.before_mode}
        row |= {"folder": True} if self.folder else {"linesAdded": self.lines_added, "linesRemoved": self.lines_removed}
        if self.new_path is not None:
            row |= {"newPath": str(self.new_path), "newRelative": self.new_relative}
        row |= {"irrecoverable": True} if self.irrecoverable else {}
        row |= {"afterMode": self.after_mode} if self.after_mode is not None else {}
        return row | ({"undoes": list(self.undoes)} if self.undoes else {}) | dict(self.more)


@dataclass(frozen=True, slots=True)
class CheckpointEntry:
    """A change that a call or North applies, or (without files) a place that the user has named. `folders` are those
    that are made for the files."""

    checkpoint_id: str
    title: str
    files: tuple[FileRecord, ...]
    status: Status
    call_id: str | None = None
    folders: tuple[Path, ...] = ()
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> CheckpointEntry:
        """Read a record of the log. Raises KeyError, TypeError, ValueError or AttributeError if it is malformed."""
        status, call_id = str(record.get("status", "applied")), record.get("toolCallId")
        return cls(
            str(record["checkpointId"]),
            as_text(record.get("title")),
            tuple(FileRecord.from_json(row) for row in record["files"]),
            cast(Status, status) if status in get_args(Status) else "applied",
            call_id if isinstance(call_id, str) else None,
            tuple(Path(str(folder)) for folder in record.get("folders", ())),
            unknown(record, _KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        stored: dict[str, Any] = {"type": "checkpoint", "checkpointId": self.checkpoint_id, "title": self.title}
        stored |= {"files": [file.to_json() for file in self.files], "status": self.status}
        stored |= {"toolCallId": self.call_id} if self.call_id else {}
        stored |= {"folders": [str(folder) for folder in self.folders]} if self.folders else {}
        return stored | dict(self.more)
