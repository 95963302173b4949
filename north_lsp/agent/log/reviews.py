"""The entries that are questions about edits and commands, with their decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from north_lsp.agent.log.fields import FIXED, as_list, as_object, as_text, text_or_none, unknown
from north_lsp.agent.log.questions import (
    HostRequest,
    PlanModeRequest,
    PlanRequest,
    Question,
    QuestionRequest,
    question_from_json,
)
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change, make_rename
from north_lsp.workspace.proposal import FileChange, TextEncoding

if TYPE_CHECKING:
    from north_lsp.agent.log.fields import Json
    from north_lsp.tools.base import Command

_KEYS = FIXED | {"reviewId", "kind", "toolCallId", "request", "status", "decision"}
_DECISION_KEYS = frozenset({"kind", "comment", "hunks", "texts", "command", "written"})
_FILE_KEYS = frozenset(
    {
        "path", "relative", "action", "oldText", "newText", "linesAdded", "linesRemoved", "newPath", "newRelative",
        "folder", "binary",
    }
)  # fmt: skip
_ACTIONS = ("create", "update", "delete", "rename")


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """A file of a proposal. Its hunks are not stored: they follow from the texts."""

    path: Path
    relative: str
    action: str
    old_text: str | None
    new_text: str
    lines_added: int = 0
    lines_removed: int = 0
    new_path: Path | None = None
    new_relative: str = ""
    folder: bool = False
    binary: bool = False
    more: Json = field(default_factory=dict)

    @classmethod
    def of(cls, change: FileChange) -> ProposedFile:
        return cls(
            change.path,
            change.relative,
            change.action,
            None if change.binary else change.old_text,
            "" if change.binary else change.new_text,
            change.lines_added,
            change.lines_removed,
            change.new_path,
            change.new_relative or "",
            change.folder,
            change.binary,
        )

    def change(self) -> FileChange:
        path, relative, old, new = self.path, self.relative, self.old_text, self.new_text
        if self.folder:
            made = make_folder_change(path, relative, self.action)  # type: ignore[arg-type]  # checked when read
            return replace(made, new_path=self.new_path, new_relative=self.new_relative) if self.new_path else made
        match self.action:
            case "delete":
                return make_deletion(path, relative, old or "", TextEncoding(), binary=self.binary)
            case "rename" if self.new_path is not None:
                to = (self.new_path, self.new_relative)
                return make_rename(path, relative, *to, old or "", new, TextEncoding(), binary=self.binary)
            case "create" | "update" if self.binary:
                return FileChange(path, relative, self.action, "", "", TextEncoding(), (), 0, 0, binary=True)
            case _:
                return make_change(path, relative, old, new, TextEncoding())

    @classmethod
    def from_json(cls, stored: object) -> ProposedFile | None:
        """Read a row of the log; None if it is malformed."""
        row = as_object(stored)
        match row:
            case {"path": str(path), "relative": str(relative), "action": str(action), "oldText": None | str() as old}:
                pass
            case _:
                return None
        new, to, shown = row.get("newText"), row.get("newPath"), row.get("newRelative")
        folder, binary = row.get("folder") is True, bool(row.get("binary"))
        moved = isinstance(to, str) and isinstance(shown, str)
        if action not in _ACTIONS or not (isinstance(new, str) or folder) or (action == "rename" and not moved):
            return None
        counts = [value if isinstance(value, int) else 0 for value in map(row.get, ("linesAdded", "linesRemoved"))]
        new_path, new_relative = (Path(to), shown) if isinstance(to, str) and isinstance(shown, str) else (None, "")
        text = new if isinstance(new, str) else ""
        more = unknown(row, _FILE_KEYS)
        texts, counted = (old, text), (counts[0], counts[1])
        return cls(Path(path), relative, action, *texts, *counted, new_path, new_relative, folder, binary, more)

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "path": str(self.path),
            "relative": self.relative,
            "action": self.action,
            "oldText": self.old_text,
            "newText": self.new_text,
            "linesAdded": self.lines_added,
            "linesRemoved": self.lines_removed,
        }
        if self.new_path is not None:
            row |= {"newPath": str(self.new_path), "newRelative": self.new_relative}
        row |= {"folder": True} if self.folder else {}
        return row | ({"binary": True} if self.binary else {}) | dict(self.more)


@dataclass(frozen=True, slots=True)
class EditRequest:
    """The changes that a review asks about."""

    title: str
    files: tuple[ProposedFile, ...]
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "files": [file.to_json() for file in self.files], **self.more}


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """The command that a review asks about."""

    command: str
    cwd: str
    timeout: float | None
    more: Json = field(default_factory=dict)

    @classmethod
    def of(cls, command: Command) -> CommandRequest:
        return cls(command.command, str(command.cwd), command.timeout)

    def to_json(self) -> dict[str, Any]:
        return {"command": self.command, "cwd": self.cwd, "timeout": self.timeout, **self.more}


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """The call of another program's tool that a review asks about: its name for models, the server, and the tool's own
    name there."""

    name: str
    server: str
    tool: str
    arguments: Json
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        row = {"name": self.name, "server": self.server, "tool": self.tool, "arguments": dict(self.arguments)}
        return row | dict(self.more)


Request = EditRequest | CommandRequest | ToolRequest | Question
_KINDS: Mapping[type[Request], str] = {
    EditRequest: "write",
    CommandRequest: "shell",
    ToolRequest: "tool",
    QuestionRequest: "question",
    PlanRequest: "plan",
    PlanModeRequest: "plan_mode",
    HostRequest: "host",
}


@dataclass(frozen=True, slots=True)
class Written:
    """The texts that were written to a file that was merged with a newer text, or that the editor has formatted."""

    old_text: str | None
    new_text: str

    @classmethod
    def from_json(cls, stored: object) -> Written | None:
        match stored:
            case {"oldText": None | str() as old, "newText": str(new)}:
                return cls(old, new)
            case _:
                return None

    def to_json(self) -> dict[str, Any]:
        return {"oldText": self.old_text, "newText": self.new_text}


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """The decision on a review. For an edit: the accepted `hunks` by file (None if none were singled out), the `texts`
    that the user made of files, and what was `written` where that differs from what was accepted (None: nothing). For a
    command: the command that ran instead."""

    kind: str
    comment: str | None = None
    hunks: Mapping[Path, frozenset[str]] | None = None
    texts: Mapping[Path, str] = field(default_factory=dict)
    written: Mapping[Path, Written | None] = field(default_factory=dict)
    command: str | None = None
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, stored: object) -> StoredDecision | None:
        if not isinstance(stored, Mapping):
            return None
        hunks = stored.get("hunks")
        return cls(
            as_text(stored.get("kind")),
            text_or_none(stored.get("comment")) or None,
            {Path(path): frozenset(map(as_text, as_list(ids))) for path, ids in hunks.items()}
            if isinstance(hunks, Mapping)
            else None,
            {Path(path): as_text(text) for path, text in as_object(stored.get("texts")).items()},
            {Path(path): Written.from_json(row) for path, row in as_object(stored.get("written")).items()},
            text_or_none(stored.get("command")),
            unknown(stored, _DECISION_KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        stored: dict[str, Any] = {"kind": self.kind} | ({"comment": self.comment} if self.comment else {})
        if self.hunks is not None:
            stored["hunks"] = {str(path): sorted(ids) for path, ids in self.hunks.items()}
        if self.texts:
            stored["texts"] = {str(path): text for path, text in self.texts.items()}
        if self.written:
            stored["written"] = {str(path): one and one.to_json() for path, one in self.written.items()}
        return stored | ({"command": self.command} if self.command is not None else {}) | dict(self.more)


@dataclass(frozen=True, slots=True)
class ReviewEntry:
    """A question to the user about a call. `request` is kept as it is for a kind that this version does not know."""

    kind: str
    call_id: str
    request: Request | object
    review_id: str = ""
    status: str = "pending"
    decision: StoredDecision | None = None
    more: Json = field(default_factory=dict)

    @classmethod
    def pending(cls, call_id: str, request: Request, review_id: str) -> ReviewEntry:
        """Make the entry of a question that waits for its decision."""
        return cls(_KINDS[type(request)], call_id, request, review_id)

    @classmethod
    def from_json(cls, record: Json) -> ReviewEntry:
        kind = as_text(record.get("kind"))
        return cls(
            kind,
            as_text(record.get("toolCallId")),
            _request(kind, record.get("request")),
            as_text(record.get("reviewId")),
            as_text(record.get("status")),
            StoredDecision.from_json(record.get("decision")),
            unknown(record, _KEYS),
        )

    def to_json(self) -> dict[str, Any]:
        request = self.request
        stored = {
            "type": "review",
            "reviewId": self.review_id,
            "kind": self.kind,
            "toolCallId": self.call_id,
            "request": request.to_json() if isinstance(request, Request) else request,
            "status": self.status,
        }
        return stored | ({"decision": self.decision.to_json()} if self.decision else {}) | dict(self.more)


def _request(kind: str, stored: object) -> Request | object:
    match kind, stored:
        case "write", {"files": list(rows)}:
            request = as_object(stored)
            more = unknown(request, frozenset({"title", "files"}))
            return EditRequest(as_text(request.get("title")), tuple(_files(rows)), more)
        case "shell", {"command": str(command), "cwd": str(cwd)}:
            request = as_object(stored)
            timeout, more = request.get("timeout"), unknown(request, frozenset({"command", "cwd", "timeout"}))
            return CommandRequest(command, cwd, timeout if isinstance(timeout, int | float) else None, more)
        case "tool", {"name": str(name), "server": str(server), "tool": str(tool), "arguments": dict(arguments)}:
            more = unknown(as_object(stored), frozenset({"name", "server", "tool", "arguments"}))
            return ToolRequest(name, server, tool, arguments, more)
        case _:
            return question_from_json(kind, stored) or stored


def _files(rows: list[Any]) -> Iterator[ProposedFile]:
    for row in rows:
        if (file := ProposedFile.from_json(row)) is not None:
            yield file
