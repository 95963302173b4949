"""Marks code that an edit of North's left unreadable, as far as a grammar tells, until it can be read again.

An editor without the chat tells its server nothing of other servers' diagnostics, so this is all that North can know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.agent.edits.syntax import syntax_errors
from north_lsp.agent.ports.editor import OpenTexts
from north_lsp.lsp.marks import Marks
from north_lsp.workspace.proposal import FileChange

CODE = "broken"
_PAUSE_SECONDS = 0.3
_LARGEST = 4 * 1024 * 1024
_MESSAGE = "North's last edit of this file left code here that cannot be parsed"
_WHOLE_LINE = 2**31 - 1
_MOST_FILES = 50


class BrokenCode:
    """The files that an edit broke. `changed` returns an event that is set when a text in the editor changes."""

    def __init__(self, marks: Marks, documents: OpenTexts, changed: Callable[[], anyio.Event]) -> None:
        self._marks = marks
        self._documents = documents
        self._changed = changed
        self._watched: set[Path] = set()
        self._woken = anyio.Event()

    async def applied(self, files: Sequence[FileChange]) -> None:
        """Look at the files of an edit that was applied: those that could be read before are marked if they cannot be
        read any more."""
        for change in files[:_MOST_FILES]:
            is_new = change.target not in self._watched and not change.binary and change.action != "delete"
            if is_new and not await syntax_errors(change.path, change.old_text or ""):
                self._watched.add(change.target)
        await self._look()
        self._woken.set()
        self._woken = anyio.Event()

    async def run(self) -> None:
        """Look again whenever the user has paused. Runs until cancelled."""
        while True:
            woken = self._woken
            if not self._watched:
                await woken.wait()
            changed = self._changed()
            await self._look()
            if self._watched:
                await changed.wait()
                await anyio.sleep(_PAUSE_SECONDS)

    async def _look(self) -> None:
        for path in list(self._watched):
            text = await self._documents.read_unsaved(path)
            text = text if text is not None else await anyio.to_thread.run_sync(_on_disk, path)
            lines = await syntax_errors(path, text) if text is not None else ()
            await self._marks.put("broken", path, [_row(line) for line in lines])
            if not lines:
                self._watched.discard(path)


def _on_disk(path: Path) -> str | None:
    try:
        return path.read_text("utf-8", "replace") if path.stat().st_size <= _LARGEST else None
    except OSError:
        return None


def _row(line: int) -> dict[str, Any]:
    range = {"start": {"line": line - 1, "character": 0}, "end": {"line": line - 1, "character": _WHOLE_LINE}}
    return {"range": range, "severity": 1, "source": "north", "code": CODE, "message": _MESSAGE}
