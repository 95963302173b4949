"""Brings the new contents of many files to the disk together: a file system that is asked for several at once writes
them in one go, while one after the other each waits for the disk."""

from __future__ import annotations

import os
from typing import Self

from north_lsp.storage.files import sync_all
from north_lsp.workspace.apply.failures import explained
from north_lsp.workspace.proposal import FileChange

_MOST_OPEN = 64


class Unsynced:
    """New files that are written but may not be on the disk yet, open until they are. `finish` returns once all of them
    are; so does every call of `add` after which too many would be open."""

    def __init__(self) -> None:
        self._open: list[tuple[FileChange, int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def add(self, change: FileChange, descriptor: int) -> None:
        """Take over an open file of a change. Raises ToolError as `finish` does."""
        self._open.append((change, descriptor))
        if len(self._open) >= _MOST_OPEN:
            self.finish()

    def finish(self) -> None:
        """Wait until everything is on the disk. Raises ToolError IO_ERROR for the first file with which that fails."""
        try:
            errors = sync_all([descriptor for _, descriptor in self._open])
            for (change, _), error in zip(self._open, errors, strict=True):
                if error is not None:
                    with explained(change):
                        raise error
        finally:
            self._close()

    def _close(self) -> None:
        while self._open:
            os.close(self._open.pop()[1])
