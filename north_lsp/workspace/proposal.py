"""What a write tool proposes: file changes made of hunks. Data only; made by `diff.py`, written by `apply.py`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Action = Literal["create", "update"]


@dataclass(frozen=True, slots=True)
class TextForm:
    """How a text is spelled on disk, so that writing it back changes nothing else.

    `encoding` is a Python codec name (`utf-8`, `utf-16-le`, `utf-16-be`, `latin-1`), `bom` the bytes in front, if any.
    """

    encoding: str = "utf-8"
    bom: bytes = b""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One run of changed lines with its context, as in a unified diff. Line numbers are 1-based."""

    id: str
    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    text: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file's prepared change. Texts keep the file's own line endings; `old_text` is None for a new file."""

    path: Path
    relative: str
    action: Action
    old_text: str | None
    new_text: str
    form: TextForm
    hunks: tuple[Hunk, ...]
    lines_added: int
    lines_removed: int
    make_executable: bool = False


@dataclass(frozen=True, slots=True)
class EditProposal:
    """Everything one tool call wants to change; reviewed as one, applied as one."""

    id: str
    tool_call_id: str
    files: tuple[FileChange, ...]
    summary: str
    warnings: tuple[str, ...] = ()

    @property
    def lines_added(self) -> int:
        return sum(file.lines_added for file in self.files)

    @property
    def lines_removed(self) -> int:
        return sum(file.lines_removed for file in self.files)
