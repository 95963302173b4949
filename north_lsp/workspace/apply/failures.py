"""What is said when a change cannot be written."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from north_lsp.errors import ToolError
from north_lsp.workspace.proposal import FileChange


@contextmanager
def explained(change: FileChange) -> Iterator[None]:
    """Have what the system refuses said with the name of the file. Raises ToolError IO_ERROR."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        name = errno.errorcode.get(error.errno or 0, "")
        raise ToolError(
            "IO_ERROR",
            f"{change.relative} could not be written: {reason}; nothing was changed",
            "find out why the file cannot be written before you try again",
            {"path": str(change.path), "error": reason, "errno": name},
        ) from error
