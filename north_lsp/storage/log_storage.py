"""What a conversation needs of the place where it is stored. There are two: `disk_log.py` has it in files, which other
processes see and which stay; `memory_log.py` has nothing that stays. Everything else about a conversation is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from north_lsp.storage.entries import Record
from north_lsp.storage.locks import LockHeld
from north_lsp.storage.log_file import Sync
from north_lsp.storage.log_state import LogState
from north_lsp.storage.partial_file import PartialFile

Stamp = tuple[int, int]


class Ownership(Protocol):
    """Which process writes a conversation: one at a time, named to the others, and asked by them to let go."""

    client: str | None
    """The editor that this process serves, for others to name it."""

    @property
    def is_mine(self) -> bool: ...

    def take(self) -> LockHeld | None:
        """Become the writer, as far as that can be locked. Returns the other process that is."""

    def sign(self, *, is_leaving: bool = False) -> None:
        """Tell other processes about this one, while it is the writer."""

    def release(self) -> None: ...

    def holder(self) -> LockHeld | None:
        """Return another process that is the writer now, without becoming it; None if there is none."""

    def want(self, *, stop: bool = False) -> None:
        """Ask the writer to let go once it has nothing to do, or to `stop` what it does. Best effort."""

    def want_no_more(self) -> None: ...

    def wanted(self) -> str | None:
        """Return what another process asks of this one: `let_go` or `stop`; None for nothing."""


class AnswerStorage(Protocol):
    """Where what has arrived of an answer is stored, until the answer is an entry of the log."""

    def begin(
        self, entry_id: str, parent: str | None, message: Mapping[str, Any], mask: Callable[[Record], Record]
    ) -> PartialFile | None:
        """Begin an answer; None where nothing of it would outlive this process."""

    def stamp(self) -> Stamp | None:
        """Return what changes whenever more is stored; None if nothing is."""

    def read(self, state: LogState) -> Record | None:
        """Return what is stored as an entry that ends the conversation, or None if nothing is that is still new."""

    def remove(self) -> None:
        """Remove what is stored. Raises OSError."""


class LogStorage(Protocol):
    """Stores one log: its file, its lock and its partial answer. Not safe for several threads at once, but for waiting
    for a `Sync`.

    `path` names the log, and beside it the folder of what belongs to the conversation. Adding never raises: `error`
    says why lines are not stored, or not on the disk, until they are.
    """

    @property
    def path(self) -> Path: ...

    @property
    def ownership(self) -> Ownership: ...

    @property
    def answer(self) -> AnswerStorage: ...

    @property
    def is_saved(self) -> bool:
        """Whether what is stored outlives this process, so that it can be listed, found, copied and continued."""

    @property
    def is_gone(self) -> bool:
        """Whether the log was there, and somebody has deleted it."""

    @property
    def error(self) -> OSError | None: ...

    def add(self, line: bytes) -> None:
        """Queue a complete line; `flush` stores it."""

    def flush(self) -> None:
        """Store what is queued, and what could not be stored before."""

    def begin_sync(self) -> Sync | None:
        """Begin to bring what is stored to the disk: wait for it, then pass it to `end_sync`; None for nothing."""

    def end_sync(self, sync: Sync, error: OSError | None) -> None: ...

    def lines(self) -> bytes:
        """Return all lines after the first, as they are stored. Raises OSError if they are not all there."""

    def news(self) -> bytes | None:
        """Return what others have appended to whole lines; None if all of it must be read again. Raises OSError."""

    def grew(self, count: int) -> None:
        """Take over so many bytes of the news."""

    def reread(self) -> bytes | None:
        """Return the whole log, and take it over, if others have changed it; None if not, or if it cannot be read."""

    def replace(self, data: bytes, former: object) -> None:
        """Replace a log of a former format by its translation, and keep it. Raises OSError."""

    def close(self) -> None:
        """Let go of files; storing again opens them again."""

    def forget(self) -> None:
        """Remove what must not outlive the conversation's end. Best effort."""
