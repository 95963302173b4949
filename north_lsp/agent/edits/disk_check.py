"""Looks at the disk before and after an editor writes texts to it by itself."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.workspace.apply.open_folders import ensure_own
from north_lsp.workspace.edit.diff import make_change, make_deletion
from north_lsp.workspace.edit.editor_result import is_same
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import Text, read_text


def disk_size(path: Path) -> int | None:
    """Return a file's size on the disk in bytes; None if there is nothing."""
    try:
        return os.stat(path).st_size
    except OSError:
        return None


def disk_text(path: Path) -> Text | None:
    """Read the text on the disk; None if there is nothing, or something that is not a text."""
    try:
        return read_text(path)
    except ToolError:
        return None


def ensure_own_file(path: Path) -> None:
    """Refuse a path that leads elsewhere, or a file that has other names (hard links). Raises ToolError."""
    ensure_own(path)


def restore(change: FileChange) -> None:
    """Put the old text back on the disk, unless the disk has it already. Raises ToolError."""
    disk = disk_text(change.path)
    if disk is not None and (disk.tag == change.disk_tag or is_same(disk.text, change.old_text or "")):
        return
    found = disk.text if disk is not None else None
    back = make_change(change.path, change.relative, found, change.old_text or "", change.text_encoding)
    _apply(back, Roots.of(change.path.parent))


def ensure_unchanged(change: FileChange) -> None:
    """Check before each single write that the disk has not changed: a client overwrites the disk, wherever the path
    leads, and would lose a change that it has not seen. Raises ToolError STALE."""
    ensure_own(change.path)
    if change.action == "create" and os.path.lexists(change.path):
        raise ToolError(
            "STALE", f"{change.relative} was created meanwhile; nothing was written", "read it, and edit what is there"
        )
    if change.disk_tag is None:
        return
    try:
        now = read_text(change.path).tag
    except ToolError as error:
        if error.code == "NOT_FOUND":
            return
        raise
    if now != change.disk_tag:
        raise ToolError(
            "STALE",
            f"{change.relative} was changed on disk while the editor shows a different text; nothing was written",
            "ask the user to save or to reload the file in the editor, then read it again",
        )


def ensure_on_disk(change: FileChange) -> None:
    """Write a new file to the disk if the editor keeps it in a buffer alone: the two have the same text then. Raises
    ToolError."""
    if not os.path.lexists(change.path):
        with suppress(ToolError):  # the editor has saved it at this very moment
            _apply(change, Roots.of(change.path.parent))
    if disk_text(change.path) is None:
        raise ToolError("IO_ERROR", f"{change.relative} was not written to the disk", "tell the user")


def remove_created(path: Path, relative: str, text: str | None) -> None:
    """Remove a file that an editor has created with this text, or with the beginning of it. Raises ToolError if
    something else is there."""
    if not os.path.lexists(path):
        return
    disk = read_text(path)
    if text is None or not (is_same(disk.text, text) or text.startswith(disk.text)):
        raise ToolError("STALE", f"{relative} has another text than the editor was given", "read it")
    _apply(make_deletion(path, relative, disk.text, disk.form), Roots.of(path.parent))


def _apply(change: FileChange, roots: Roots) -> None:
    from north_lsp.workspace.apply.apply import apply

    apply([change], roots)
