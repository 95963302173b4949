"""The files of a project's `.north` that are the user's own: kept out of git, if the user wants that."""

from __future__ import annotations

import os
from pathlib import Path

from north_lsp import systems
from north_lsp.workspace.git import exclude_file, run_git, top_level

SWITCHES = ".north/autoaccept.json"
_OWN = (f"**/{SWITCHES}", "**/.north/secrets.yml", "**/.north/work/*/evidence")
_MOST_BYTES = 1 << 20


def git_would_take(root: Path) -> bool:
    """Tell whether the file with the switches would become part of the repository with the next `git add`. Blocks."""
    if not (root / SWITCHES).is_file() or top_level(root) is None:
        return False
    return bool(run_git(["ls-files", "--others", "--exclude-standard", "--", SWITCHES], root))


def keep_out(root: Path) -> Path:
    """Add these files to the ignore file that is no part of the repository's contents; return its path. Raises OSError.
    Blocks."""
    top = top_level(root)
    if top is None:
        raise FileNotFoundError(2, "this folder is in no git repository", str(root))
    path = exclude_file(top)
    path.parent.mkdir(exist_ok=True)
    descriptor = systems.open_file(
        path, os.O_RDWR | os.O_CREAT | os.O_APPEND | systems.NOFOLLOW | systems.CLOEXEC, 0o666
    )
    with open(descriptor, "r+b", buffering=0) as file:
        before = file.read(_MOST_BYTES) or b""
        known = before.decode("utf-8", "replace").splitlines()
        missing = "".join(f"{line}\n" for line in _OWN if line not in known).encode()
        if missing:
            file.write(missing if not before or before.endswith(b"\n") else b"\n" + missing)
    return path
