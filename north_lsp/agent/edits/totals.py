"""Sums up what a conversation has changed: from the first contents of every file until now, and in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from north_lsp.agent.edits.checkpoints import Checkpoint, live
from north_lsp.lazy_dataclass import dataclass

_MISSING = "(the first contents of {} were not kept)\n"


@dataclass(frozen=True, slots=True)
class First:
    """A file as it was before its first change: `before` is a digest, None if there was no file."""

    path: Path
    relative: str
    before: str | None
    irrecoverable: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """Numbers of the changes that still hold."""

    lines_added: int = 0
    lines_removed: int = 0
    created: int = 0
    changed: int = 0
    deleted: int = 0
    moved: int = 0


def first_contents(checkpoints: Iterable[Checkpoint]) -> list[First]:
    """Return every file (no folders) that the checkpoints (oldest first) touch, in the order of the first touch. Both
    ends of a rename count."""
    found: dict[Path, First] = {}
    for one in checkpoints:
        for file in one.files:
            if file.folder:
                continue
            found.setdefault(file.path, First(file.path, file.relative, file.before, file.irrecoverable))
            if file.new_path is not None:
                found.setdefault(file.new_path, First(file.new_path, file.new_relative or file.relative, None))
    return list(found.values())


def totals(checkpoints: Sequence[Checkpoint], turn: str | None = None) -> Totals:
    """Sum up the changes of all turns, or of one. What was undone does not count, nor do undos; a file counts once for
    each kind of change."""
    holds = live(checkpoints)
    added = removed = 0
    files: dict[str, set[Path]] = {"create": set(), "update": set(), "delete": set(), "rename": set()}
    for one in checkpoints:
        for file in one.files:
            if file.folder or file.undoes or not holds[(one.id, file.path)] or turn not in (None, one.turn):
                continue
            added, removed = added + file.lines_added, removed + file.lines_removed
            files[file.action].add(file.target)
    created, changed, deleted, moved = (len(files[action]) for action in ("create", "update", "delete", "rename"))
    return Totals(added, removed, created, changed, deleted, moved)


def totals_in_words(sums: Totals) -> str:
    counts = {"created": sums.created, "changed": sums.changed, "deleted": sums.deleted, "moved": sums.moved}
    files = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"+{sums.lines_added}/-{sums.lines_removed} lines, files: {files}" if files else "nothing"


def missing(file: First) -> str:
    return _MISSING.format(file.relative)
