"""Open files whose text the disk does not have: whatever runs reads the disk."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.tools.support.texts import is_saved
from north_lsp.workspace.workspace import Workspace

_NAMED = 5


async def unsaved_files(workspace: Workspace) -> tuple[str, ...]:
    """Their paths, as far as the editor tells what it has open."""
    return await anyio.to_thread.run_sync(_unsaved, await workspace.unsaved_texts(), workspace)


def _unsaved(texts: Mapping[Path, str], workspace: Workspace) -> tuple[str, ...]:
    found = []
    for path, text in texts.items():
        root = workspace.roots.root_of(path)
        try:
            if root is None or is_saved(path, text) or workspace.trees.closed(path) is not None:
                continue
        except ToolError:  # no text on the disk
            continue
        found.append(workspace.roots.display_path(root, path.relative_to(root).as_posix()))
    return tuple(sorted(found))


def unsaved_for_model(names: Sequence[str], what: str) -> str:
    """One sentence; `what` is how the command is spoken of."""
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    are = "1 open file is" if len(names) == 1 else f"{len(names)} open files are"
    return f"{are} not saved in the editor: {shown}. {what} what is on the disk, without the unsaved changes"
