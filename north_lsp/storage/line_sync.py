"""Brings a log to the disk after each line, on a thread of its own, for users who ask for that."""

from __future__ import annotations

import threading
from collections.abc import Callable


class LineSync:
    """Calls `sync` soon after each `wake`, in order; lines that come together are brought to the disk together."""

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._changed = threading.Condition()
        self._waiting = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        with self._changed:
            self._waiting = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="north-fsync", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread once it is done; `wake` starts another one."""
        with self._changed:
            self._closed = self._thread is not None
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    self._closed, self._thread = False, None
                    return
                self._waiting = False
            self._sync()
