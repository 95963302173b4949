"""The net effect of a draft: what has changed between each file's first text and its last. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from north_lsp.tools.edit.draft_file import DraftFile
from north_lsp.tools.edit.draft_folders import DraftFolder, folder_changes
from north_lsp.tools.edit.draft_guards import ensure_writable
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_rename
from north_lsp.workspace.proposal import FileChange


def net_changes(files: Mapping[Path, DraftFile], folders: Mapping[Path, DraftFolder]) -> list[FileChange]:
    """Return the changes, in the order in which the files were first named. Raises ToolError INVALID_INPUT for a text
    that its file cannot hold."""
    found: list[FileChange] = []
    renamed: set[Path] = set()
    for file in files.values():
        source = file.moved_from
        if source is not None and file.text is not None and file.original is None and _is_gone(source, renamed):
            renamed.add(source.resolved.path)
    taken: set[Path] = set()
    for file in files.values():
        path, source = file.resolved.path, file.moved_from
        change: FileChange | None = None
        if file.text is None:
            if file.original is not None and path not in renamed:
                form = file.first_form
                change = make_deletion(path, file.relative, file.original, form, binary=file.first_binary)
        elif file.original is not None:
            change = _update(file, file.original, file.text)
        elif source is not None and source.resolved.path in renamed - taken:
            taken.add(source.resolved.path)
            old = source.original or ""
            places = (source.resolved.path, source.relative, path, file.relative)
            change = make_rename(*places, old, file.text, file.text_encoding, binary=file.binary)
        else:
            change = replace(_create(file, file.text), mode=file.mode)
        if change is not None:
            ensure_writable(change)
            executable = file.make_executable and change.action == "create"
            said = tuple(_notices(file, change))
            found.append(replace(change, make_executable=executable, notices=said, disk_tag=file.disk_tag))
    remaining = [path for path, file in files.items() if file.text is not None]
    return [*found, *folder_changes(folders, remaining)]


def _update(file: DraftFile, old: str, new: str) -> FileChange | None:
    """Return a file's change, None if nothing changed. A file that was moved here brings its encoding and mode."""
    path, before = file.resolved.path, file.first_form
    mode = file.mode if file.mode != file.first_mode else None
    if old == new and file.text_encoding == before and mode is None:
        return None
    if file.binary or file.first_binary:
        change = FileChange(path, file.relative, "update", old, new, file.text_encoding, (), 0, 0, binary=True)
    else:
        change = make_change(path, file.relative, old, new, file.text_encoding)
    return replace(change, old_encoding=before if before != file.text_encoding else None, mode=mode)


def _create(file: DraftFile, new: str) -> FileChange:
    if file.binary:
        return FileChange(
            file.resolved.path, file.relative, "create", None, new, file.text_encoding, (), 0, 0, binary=True
        )
    return make_change(file.resolved.path, file.relative, None, new, file.text_encoding)


def _is_gone(source: DraftFile, renamed: set[Path]) -> bool:
    return source.text is None and source.original is not None and source.resolved.path not in renamed


def _notices(file: DraftFile, change: FileChange) -> list[str]:
    notices = list(file.notices)
    if file.links > 1 and change.action in ("update", "delete", "rename"):
        notices.append(
            f"{file.relative} has {file.links} hard links: the other names keep the old contents, the link is broken"
        )
    return notices
