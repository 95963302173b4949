"""Lists the entries of a root, as a first look at a project."""

from __future__ import annotations

import os
import stat
from collections.abc import Container
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.workspace.files.ignore import IgnoreRules, join
from north_lsp.workspace.opening import open_folder

MAX_ENTRIES = 500


class ListedEntry(TypedDict):
    """One entry, ready for the model; `size` in bytes, for files only."""

    name: str
    type: Literal["file", "dir", "link"]
    size: NotRequired[int]


def list_root(
    root: Path, rules: IgnoreRules, most: int = MAX_ENTRIES, closed: Container[str] = ()
) -> tuple[list[ListedEntry], bool]:
    """List what is not ignored in a root, folders first, then by name, and say whether the list was cut at `most`
    entries. `closed` are absolute paths that are left out as well.

    Raises ToolError IO_ERROR if the folder cannot be read.
    """
    entries: list[ListedEntry] = []
    try:
        with open_folder(root) as descriptor, systems.scan(descriptor) as listing:
            found = [(item.name, status) for item in listing if (status := _status(item)) is not None]
    except OSError as error:
        raise ToolError("IO_ERROR", f"{root} cannot be listed: {error.strerror}") from error
    found.sort(key=lambda item: (not stat.S_ISDIR(item[1].st_mode), item[0]))
    for name, status in found:
        is_dir = stat.S_ISDIR(status.st_mode)
        if rules.ignored(name, is_dir) or join(root.as_posix(), name) in closed:
            continue
        shown = readable(name)
        if is_dir:
            entries.append({"name": shown, "type": "dir"})
        elif stat.S_ISLNK(status.st_mode):
            entries.append({"name": shown, "type": "link"})
        else:
            entries.append({"name": shown, "type": "file", "size": status.st_size})
    return entries[:most], len(entries) > most


def _status(item: systems.Entry) -> os.stat_result | None:
    try:
        return item.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None


def readable(name: str) -> str:
    """Return a file name as valid Unicode; invalid bytes are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")
