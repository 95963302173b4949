"""What a client says its editor shows while the user writes a prompt."""

from __future__ import annotations

from typing import Literal

from north_lsp.lazy_dataclass import dataclass

Severity = Literal["error", "warning", "info", "hint"]


@dataclass(frozen=True, slots=True)
class EditorProblem:
    """A problem in the active file; `line` counts from 1."""

    line: int
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class EditorState:
    """The file that the user works in, with the lines (from 1, both ends included) that are selected and in view; and
    the files that are in view, open, not saved, and edited lately, with the line. Paths are as the client writes
    them: nothing of this is checked yet."""

    active: str | None = None
    line: int | None = None
    selection: tuple[int, int] | None = None
    in_view: tuple[int, int] | None = None
    visible: tuple[str, ...] = ()
    opened: tuple[str, ...] = ()
    unsaved: tuple[str, ...] = ()
    edits: tuple[tuple[str, int], ...] = ()
    problems: tuple[EditorProblem, ...] = ()
