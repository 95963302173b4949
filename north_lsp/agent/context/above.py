"""What counts in the folders above a root, in the same repository: a root may be one package of many."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from north_lsp.agent.context.documents import Place, Resolve
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.workspace.files.ignore import IgnoreRules
from north_lsp.workspace.git import top_level

_MAX_DEPTH = 20


def folders_between(top: Path, folder: Path) -> list[Path]:
    """Return the folders from `top` down to `folder`, both included; hidden ones and very deep ones are left out."""
    names = folder.relative_to(top).parts
    found = [top]
    for name in names[:_MAX_DEPTH]:
        if name.startswith("."):
            break
        found.append(found[-1] / name)
    return found


def found_above(root: Path, name: str) -> list[tuple[Path, Path]]:
    """Return the files or folders of this name above a root that count there, each with the folder that it is in: the
    nearest one, unless the root has its own, and that of the repository itself."""
    top = top_level(root) or root
    above = [folder for folder in folders_between(top, root)[:-1] if os.path.exists(folder / name)]
    nearest = [] if os.path.exists(root / name) else above[-1:]
    return [(folder, folder / name) for folder in dict.fromkeys((*nearest, *(one for one in above[:1] if one == top)))]


def place_above(roots: Sequence[Path]) -> Place:
    """Return who decides on what is above roots, in the same repositories: real files and folders that no list there
    closes."""
    tops = [top for root in roots if (top := top_level(root)) is not None]
    return Place("project", resolver_above(tops))


def resolver_above(tops: Sequence[Path]) -> Resolve:
    """Return what decides on files and folders in repositories whose top folders are known."""
    rules = {top: IgnoreRules.of(top) for top in dict.fromkeys(tops)}

    def resolve(path: Path) -> tuple[Path, str]:
        top = next((top for top in rules if path.is_relative_to(top)), None)
        if top is None or not _is_real(path):
            raise ToolError("OUTSIDE_WORKSPACE", f"{path} is outside the workspace")
        if (reason := rules[top].closing(path.relative_to(top).as_posix())) is not None:
            raise ToolError("IGNORED", f"{path} is closed: {reason}")
        return path, one_line(str(path), 300)

    return resolve


def _is_real(path: Path) -> bool:
    """Tell whether a path is a folder's or a file's only name, and has no link in it."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    is_own = stat.S_ISDIR(status.st_mode) or (stat.S_ISREG(status.st_mode) and status.st_nlink == 1)
    return is_own and os.path.realpath(path) == str(path)
