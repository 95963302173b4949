"""Which process writes a log on the disk: one at a time, named to the others, and asked by them to let go."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from north_lsp.storage.files import json_bytes, private_directory, read_json, write_atomic
from north_lsp.storage.locks import FileLock, LockHeld, try_lock

_ATTEMPTS = 3
_A_MOMENT = 0.01  # seconds


class FileOwnership:
    """The `Ownership` of a log on the disk: a lock beside it. Not safe for several threads at once."""

    def __init__(self, log: Path) -> None:
        self.client: str | None = None
        """The editor that this process serves, for others to name it."""
        self._path = log.with_suffix(".lock")
        self._wanted = log.with_suffix(".wanted")
        self._lock: FileLock | None = None

    @property
    def is_mine(self) -> bool:
        return self._lock is not None

    def take(self) -> LockHeld | None:
        """Become the writer, as far as files can be locked here. Returns the other process that is."""
        for attempt in range(_ATTEMPTS):
            try:
                taken = try_lock(private_directory(self._path.parent) / self._path.name)
            except OSError:
                return None  # no locks here, or no directory: the write itself will fail
            if isinstance(taken, FileLock):
                self._lock = taken
                self.sign()
                self.want_no_more()  # what was asked of an earlier writer; who still wants it asks again
                return None
            if attempt == _ATTEMPTS - 1:
                return taken
            time.sleep(_A_MOMENT)  # somebody who only looks has it for a moment, too
        return None

    def sign(self, *, is_leaving: bool = False) -> None:
        """Tell other processes about this one, while it is the writer."""
        if self._lock is not None:
            self._lock.sign(client=self.client, leaving=is_leaving)

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release(remove=True)
            self._lock = None

    def holder(self) -> LockHeld | None:
        """Return another process that is the writer now, without becoming it; None if there is none."""
        if self._lock is not None or not self._path.exists():
            return None
        try:
            taken = try_lock(self._path)
        except OSError:
            return None
        if isinstance(taken, LockHeld):
            return taken
        taken.release(remove=True)  # left by a process that died
        return None

    def want(self, *, stop: bool = False) -> None:
        """Ask the writer to let go once it has nothing to do, or to `stop` what it does. Best effort."""
        with suppress(OSError):
            write_atomic(self._wanted, json_bytes({"pid": os.getpid(), "client": self.client, "stop": stop}))

    def want_no_more(self) -> None:
        with suppress(OSError):
            self._wanted.unlink(missing_ok=True)

    def wanted(self) -> str | None:
        """Return what another process asks of this one: `let_go` or `stop`; None for nothing."""
        try:
            asked = read_json(self._wanted)
        except (OSError, ValueError):
            return None
        return "stop" if isinstance(asked, dict) and asked.get("stop") is True else "let_go"
