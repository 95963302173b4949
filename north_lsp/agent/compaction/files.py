"""The files that a part of a conversation has read and changed, by what the log says was shown and written. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.compactions import CompactionEntry, FileNames
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.messages import Mention, PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.display import one_line

_MOST = 100
_LONGEST_NAME = 300


def files_of(entries: Iterable[Logged], root: Path) -> FileNames:
    """Return the files, those of the summaries among the entries included; the newest hundred of each kind. A file
    that was changed does not count as read."""
    read: dict[str, None] = {}
    modified: dict[str, None] = {}
    for one in entries:
        more = _of(one.entry, root)
        for name in more.read:
            read.pop(name, None)
            read[name] = None
        for name in more.modified:
            modified.pop(name, None)
            modified[name] = None
    return FileNames(tuple(name for name in read if name not in modified)[-_MOST:], tuple(modified)[-_MOST:])


def _of(entry: Entry, root: Path) -> FileNames:
    match entry:
        case CompactionEntry(files=files):
            return files
        case BranchSummaryEntry(read=read, modified=modified):
            return FileNames(read, modified)
        case CheckpointEntry(files=files, status="applied"):
            return FileNames((), tuple(_name(file.target, root) for file in files))
        case ResultEntry(details=details):
            return FileNames(tuple(_name(path, root) for path, seen in details.seen if seen is not None))
        case PromptEntry(parts=parts):
            seen = [part.seen for part in parts if isinstance(part, Mention) and part.seen is not None]
            return FileNames(tuple(_name(path, root) for rows in seen for path, one in rows if one is not None))
        case _:
            return FileNames()


def _name(path: Path, root: Path) -> str:
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return one_line(shown, _LONGEST_NAME).replace("<", "&lt;")
