"""The disk as it will be once a set of changes is applied: what a guard must judge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import encode

_MOST_BYTES = 1024 * 1024


class After:
    """Reads the disk as if the changes were already applied, each folder once. Methods raise OSError for what cannot be
    determined."""

    def __init__(self, changes: Sequence[FileChange]) -> None:
        self._stands: dict[Path, FileChange] = {}
        self._made: dict[Path, set[str]] = {}
        gone: set[Path] = set()
        for change in changes:
            if change.action in ("delete", "rename"):
                gone.add(change.path)
            if change.action != "delete":
                self._stands[change.target] = change
                for path in (change.target, *change.target.parents):
                    there = self._made.setdefault(path.parent, set())
                    if path.name in there:
                        break  # so are the folders around it
                    there.add(path.name)
        self._gone = gone - self._stands.keys()
        self._left: dict[Path, set[str]] = {}
        for path in self._gone:
            self._left.setdefault(path.parent, set()).add(path.name)
        self._names: dict[Path, frozenset[str]] = {}

    def names(self, folder: Path) -> frozenset[str]:
        """Return the names that will be in a folder; none if it will not be a folder. Raises OSError."""
        if (known := self._names.get(folder)) is not None:
            return known
        found = set[str]()
        with suppress(FileNotFoundError, NotADirectoryError):
            found.update(systems.list_folder(folder))
        found.difference_update(self._left.get(folder, ()))
        found.update(self._made.get(folder, ()))
        return self._names.setdefault(folder, frozenset(found))

    def content(self, path: Path) -> bytes | None:
        """Return what a file will contain, at most its first megabyte; None for what will not be a file. Raises
        OSError."""
        change = self._stands.get(path)
        if change is not None:
            if change.folder:
                return None
            try:
                return encode(change.new_text, change.text_encoding)[:_MOST_BYTES]
            except ToolError as error:
                raise OSError(error.message) from error
        return None if path in self._gone else content_before(path)


def content_before(path: Path) -> bytes | None:
    """Return what a file contains now, at most its first megabyte; None for what is not a file. Raises OSError."""
    try:
        descriptor = systems.open_file(path, os.O_RDONLY | systems.NONBLOCK | systems.CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        with open(descriptor, "rb") as file:
            return file.read(_MOST_BYTES)
    except IsADirectoryError:
        os.close(descriptor)
        return None
