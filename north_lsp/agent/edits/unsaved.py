"""Finds open files with unsaved changes: commands read the disk, which does not have them, and saving after an edit
would save them as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.tools.support.texts import is_saved
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

_NAMED = 5


def saved_changes(changes: Sequence[FileChange], texts: Mapping[Path, str]) -> list[FileChange]:
    """Return the changes of files of which the disk has the text that the editor shows. Call it on a thread."""
    found = []
    for change in changes:
        with suppress(ToolError):
            if change.path in texts and is_saved(change.path, texts[change.path]):
                found.append(change)
    return found


async def unsaved_files(workspace: Workspace) -> tuple[str, ...]:
    """Return the paths of the unsaved files that the editor reports."""
    return await anyio.to_thread.run_sync(_unsaved, await workspace.editor.unsaved_texts(), workspace)


def _unsaved(texts: Mapping[Path, str], workspace: Workspace) -> tuple[str, ...]:
    found = []
    for path, text in texts.items():
        root = workspace.roots.root_of(path)
        try:
            if root is None or is_saved(path, text) or workspace.trees.closed(path) is not None:
                continue
        except ToolError:  # there is no text on the disk
            continue
        found.append(workspace.roots.display_path(root, path.relative_to(root).as_posix()))
    return tuple(sorted(found))


def unsaved_for_model(names: Sequence[str], what: str) -> str:
    """Make one sentence for the model; `what` begins its last part, e.g. "the command reads"."""
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    are = "1 open file is" if len(names) == 1 else f"{len(names)} open files are"
    return f"{are} not saved in the editor: {shown}. {what} what is on the disk, without the unsaved changes"
