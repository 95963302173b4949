"""What an edit tool proposes: file changes made of hunks. Data only; created by `diff.py`, written by `apply.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from north_lsp.lazy_dataclass import dataclass

Action = Literal["create", "update", "delete", "rename"]


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """How a text is encoded on disk, so that writing it back changes nothing else.

    `encoding` is a Python codec name (`utf-8`, `utf-16-le`, `utf-16-be`, `latin-1`) or `text.NEARLY_UTF8`, `bom` the
    byte order mark, if any.
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
    """The prepared change of one file. Texts keep the file's own line endings.

    `old_text` is None for a new file, `new_text` is empty for a deleted one; a rename has both, and its text may change
    as well. `old_encoding` is the old text's encoding where it differs from the new one's. The texts of a `binary` file
    are its bytes as `decode` reads them: they are written back, but not shown. `mode` is what the file gets (None: its
    present mode, or the default for a new file). `notices` are for the user and the model; `undoes` names the
    checkpoints that this change undoes. `disk_tag` is the tag of what was on the disk when the text was read, wherever
    the text came from. A `folder` is an empty one; it has no text, so it counts as `binary`.
    """

    path: Path
    relative: str
    action: Action
    old_text: str | None
    new_text: str
    text_encoding: TextEncoding
    hunks: tuple[Hunk, ...]
    lines_added: int
    lines_removed: int
    make_executable: bool = False
    new_path: Path | None = None
    new_relative: str | None = None
    old_encoding: TextEncoding | None = None
    binary: bool = False
    mode: int | None = None
    notices: tuple[str, ...] = ()
    undoes: tuple[str, ...] = ()
    disk_tag: str | None = None
    folder: bool = False

    @property
    def target(self) -> Path:
        """The path of the file after the change, by which editors know the change."""
        return self.new_path or self.path

    @property
    def shown(self) -> str:
        """`target` as people and the model read it."""
        return self.new_relative or self.relative

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every path that the change touches."""
        return (self.path,) if self.new_path is None else (self.path, self.new_path)

    @property
    def first_changed_line(self) -> int | None:
        """The first line that changes, below the lines that its hunk shows unchanged; None where no lines do."""
        if not self.hunks:
            return None
        rows = self.hunks[0].text.split("\n")
        above = next((number for number, row in enumerate(rows) if not row.startswith(" ")), 0)
        return max(self.hunks[0].new_start + above, 1)

    @property
    def is_empty(self) -> bool:
        """Whether applying it would leave everything as it is."""
        return self.action == "update" and self.old_text == self.new_text and not self.encoding_changed

    @property
    def encoding_changed(self) -> bool:
        """Whether the file gets another encoding or another mode."""
        return self.encoding_before != self.text_encoding or (self.action == "update" and self.mode is not None)

    @property
    def encoding_before(self) -> TextEncoding:
        return self.old_encoding or self.text_encoding


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

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(notice for file in self.files for notice in file.notices)
