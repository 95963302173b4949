"""Describes an edit on one line, for clients that show only a title and for changes that have no lines."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.display import counted, one_line
from north_lsp.workspace.proposal import FileChange

_NAMED = 3
_LENGTH = 300


def describe_edit(files: Sequence[FileChange]) -> str:
    """Describe an edit as an instruction: "Delete notes.txt (120 lines)", "Edit a.py, b.py; rename c.py to d.py
    (+3/-2)"."""
    if len(files) == 1:
        (change,) = files
        return one_line(_capital(f"{_verb(change)} {_what(change)}{_size(change)}"), _LENGTH)
    groups: dict[str, list[str]] = {}
    for change in files:
        groups.setdefault(_verb(change), []).append(_what(change))
    parts = [f"{verb} {_some(names)}" for verb, names in groups.items()]
    added, removed = sum(change.lines_added for change in files), sum(change.lines_removed for change in files)
    return one_line(_capital(f"{'; '.join(parts)} (+{added}/-{removed})"), _LENGTH)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _verb(change: FileChange) -> str:
    if change.folder:
        return {"create": "make", "delete": "delete", "rename": "move"}.get(change.action, "change")
    if change.binary and change.action == "update":
        return "replace"
    return {"create": "create", "update": "edit", "delete": "delete", "rename": "move"}[change.action]


def _what(change: FileChange) -> str:
    name = f"{change.relative} to {change.shown}" if change.action == "rename" else change.shown
    return f"the folder {name}" if change.folder else name


def _size(change: FileChange) -> str:
    if change.folder:
        return ""
    if change.binary:
        return " (a file that is not text)"
    lines = change.lines_removed if change.action == "delete" else change.lines_added
    if change.action in ("delete", "create"):
        return f" ({counted(lines, 'line')})"
    return f" (+{change.lines_added}/-{change.lines_removed})" if change.hunks else ""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
