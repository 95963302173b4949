"""A conversation that is not saved: its log is only what it adds up to in memory. What cannot be there, full outputs
and what agents say, is in a folder that goes with it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from north_lsp import systems
from north_lsp.storage.entries import free_conversation_id
from north_lsp.storage.files import private_directory

if TYPE_CHECKING:
    from north_lsp.storage.entries import Record
    from north_lsp.storage.locks import LockHeld
    from north_lsp.storage.log_file import Sync
    from north_lsp.storage.log_state import LogState
    from north_lsp.storage.log_storage import AnswerStorage, Ownership, Stamp
    from north_lsp.storage.partial_file import PartialFile

UNSAVED_FOLDER = "unsaved-"
NOT_SAVED = "this conversation is not saved"


class MemoryLog:
    """A `LogStorage` that stores nothing: nothing fails, nobody else writes, nothing is left. Its folder is made in
    `temporary`, with a lock on it, which tells other processes that it is needed."""

    is_saved = False
    is_gone = False
    error: OSError | None = None

    def __init__(self, temporary: Path) -> None:
        id = free_conversation_id(temporary)
        self.path = temporary / f"{UNSAVED_FOLDER}{id}" / f"{id}.jsonl"
        self.ownership: Ownership = SoleOwnership()
        self.answer: AnswerStorage = NoAnswer()
        self._held: int | None = None
        with suppress(OSError):
            self._held = systems.lock_folder(private_directory(self.path.parent))

    def add(self, line: bytes) -> None:
        pass

    def flush(self) -> None:
        pass

    def begin_sync(self) -> Sync | None:
        return None

    def end_sync(self, sync: Sync, error: OSError | None) -> None:
        pass

    def lines(self) -> bytes:
        raise OSError(errno.ENOENT, NOT_SAVED)

    def news(self) -> bytes | None:
        return b""

    def grew(self, count: int) -> None:
        pass

    def reread(self) -> bytes | None:
        return None

    def replace(self, data: bytes, former: object) -> None:
        pass

    def close(self) -> None:
        pass

    def forget(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None
        import shutil

        shutil.rmtree(self.path.parent, ignore_errors=True)


class SoleOwnership:
    """An `Ownership` of what no other process can know of."""

    def __init__(self) -> None:
        self.client: str | None = None
        self._is_mine = False

    @property
    def is_mine(self) -> bool:
        return self._is_mine

    def take(self) -> LockHeld | None:
        self._is_mine = True
        return None

    def sign(self, *, is_leaving: bool = False) -> None:
        pass

    def release(self) -> None:
        self._is_mine = False

    def holder(self) -> LockHeld | None:
        return None

    def want(self, *, stop: bool = False) -> None:
        pass

    def want_no_more(self) -> None:
        pass

    def wanted(self) -> str | None:
        return None


class NoAnswer:
    """An `AnswerStorage` where nothing would outlive the process."""

    def begin(
        self, entry_id: str, parent: str | None, message: Mapping[str, Any], mask: Callable[[Record], Record]
    ) -> PartialFile | None:
        return None

    def stamp(self) -> Stamp | None:
        return None

    def read(self, state: LogState) -> Record | None:
        return None

    def remove(self) -> None:
        pass
