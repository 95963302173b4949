"""North's own log: JSON lines, written by a thread, shared by several processes; logging never blocks the caller."""

from __future__ import annotations

import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from north_lsp import systems
from north_lsp.storage.entries import timestamp
from north_lsp.storage.files import private_directory, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.masking import MASK, is_secret_name, masked
from north_lsp.storage.records import encode, storable

MAX_BYTES = 10 * 1024 * 1024
MAX_FILES = 5
MAX_QUEUED = 10_000
MAX_REPORTS = 20

LEVELS = {"trace": 0, "debug": 1, "info": 2, "warn": 3, "error": 4}
_TOP_LEVEL = ("sessionId", "turn")
_CUT = {"trace": 100_000, "debug": 500}
_CUT_DEFAULT = 20_000
_CLOSE_SECONDS = 2.0

Row = dict[str, Any]
"""A line of the log."""


class DiagnosticsLog:
    """Appends to `<state>/north.log` what is at or above `level` (an unknown level means info).

    Nothing here raises; events that cannot be written are gone. `files` are kept, the newest included.
    """

    def __init__(
        self, locations: Locations, level: str = "info", *, max_bytes: int = MAX_BYTES, files: int = MAX_FILES
    ) -> None:
        self._threshold = LEVELS.get(level, LEVELS["info"])
        self.path = locations.log_file
        self.observer: Callable[[str, Mapping[str, object]], None] | None = None
        self.observes_texts = False  # `observer` wants what models are sent and answer, too
        self.listener: Callable[[str, str], None] | None = None
        self._crashes = locations.crashes
        self._reports: deque[tuple[Path, bytes]] = deque()
        self._reported = 0
        self._writer = _Writer(locations, max_bytes, files)
        self._home = _home_pattern()
        self._queue: deque[tuple[bool, bytes]] = deque()
        self._queued_debug = 0
        self._dropped = 0
        self._closed = False
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()

    def event(self, level: str, name: str, /, **data: object) -> None:
        """Log an event. `sessionId` and `turn` are put next to the data, as the format has it. `observer` gets each
        event, whatever its level, but whole texts (`trace`) only if it wants them; `listener` gets the level and the
        text of what is written. They may not raise."""
        if self.observer is not None and (level != "trace" or self.observes_texts):
            self.observer(name, data)
        if LEVELS.get(level, LEVELS["info"]) < self._threshold:
            return
        row = self._row(level, name, data)
        line = encode(row)
        if self.listener is not None:
            self.listener(level, in_words(row))
        with self._changed:
            if not self._closed and self._make_room(level):
                self._put(level, line)

    @property
    def is_debug(self) -> bool:
        return self._threshold <= LEVELS["debug"]

    @property
    def takes_texts(self) -> bool:
        """Whether anybody gets whole texts, which take time to make."""
        return self.observes_texts or self._threshold <= LEVELS["trace"]

    def report_crash(self, text: str) -> Path | None:
        """Have a report written to a file of its own, without secrets; None for all but the first of a process."""
        with self._changed:
            if self._reported >= MAX_REPORTS or self._closed:
                return None
            self._reported += 1
            path = self._crashes / f"{crash_name()}-{self._reported}.txt"
            self._reports.append((path, storable({"": masked(text)})[""].encode()))
            self._wake()
        return path

    def close(self, seconds: float = _CLOSE_SECONDS) -> None:
        """Write what is queued, for so long at most; later events are dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(seconds)

    # -- the queue -------------------------------------------------------------------------------------------------

    def _make_room(self, level: str) -> bool:
        if len(self._queue) < MAX_QUEUED:
            return True
        self._dropped += 1
        if self._queued_debug == 0 or level in ("debug", "trace"):
            return False
        place = next(index for index, (minor, _) in enumerate(self._queue) if minor)
        del self._queue[place]
        self._queued_debug -= 1
        return True

    def _put(self, level: str, line: bytes) -> None:
        minor = level in ("debug", "trace")
        self._queue.append((minor, line))
        self._queued_debug += minor
        self._wake()

    def _wake(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="north-log", daemon=True)
            with suppress(RuntimeError):  # the process is ending, or has no threads left
                thread.start()
                self._thread = thread
        self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._reports or self._closed)
                lines = [line for _, line in self._queue]
                reports = list(self._reports)
                self._reports.clear()
                if not lines and not reports:
                    break
                if self._dropped:
                    lines.append(encode(self._row("warn", "log_dropped", {"n": self._dropped})))
                self._queue.clear()
                self._queued_debug = self._dropped = 0
            for path, text in reports:
                with suppress(OSError):
                    private_directory(path.parent)
                    write_atomic(path, text)
            for line in lines:
                with suppress(OSError):
                    self._writer.write(line)
        self._writer.close()

    # -- one row ---------------------------------------------------------------------------------------------------

    def _row(self, level: str, name: str, data: dict[str, object]) -> Row:
        limit = _CUT.get(level, _CUT_DEFAULT)
        hides = level in _CUT
        shown = {
            key: MASK if hides and is_secret_name(key) and isinstance(value, str) else self._shown(value, limit, hides)
            for key, value in data.items()
        }
        row: Row = {
            "timestamp": timestamp(),
            "level": level,
            "event": name,
            "data": {key: value for key, value in shown.items() if key not in _TOP_LEVEL},
        }
        row |= {key: shown[key] for key in _TOP_LEVEL if key in shown}
        row["pid"] = os.getpid()
        return storable(row)

    def _shown(self, value: object, limit: int, hides: bool, depth: int = 0) -> object:
        match value:
            case None | bool() | int() | float():
                return value
            case str() | Path():
                # Only what may have contents at all can have secrets.
                text = self._home.sub("~", masked(str(value)) if hides else str(value))
                return text if len(text) <= limit else text[: limit - 1] + "…"
            case dict() if depth < 10:
                return {str(key): self._shown(item, limit, hides, depth + 1) for key, item in value.items()}
            case list() | tuple() if depth < 10:
                return [self._shown(item, limit, hides, depth + 1) for item in value]
            case _:
                return f"<{type(value).__name__}>"  # its `str` may contain what must not be logged, or raise


def in_words(row: Row) -> str:
    """Return what a row of the log says, without when and where."""
    data = row.get("data")
    parts = [f"{key}={_value(value)}" for key, value in data.items()] if isinstance(data, dict) else []
    parts += [f"sessionId={row['sessionId']}"] if "sessionId" in row else []
    return f"{row.get('event')}  {' '.join(parts)}".rstrip()


def _value(value: object) -> str:
    return (
        value
        if isinstance(value, str) and value and not any(map(str.isspace, value))
        else json.dumps(value, ensure_ascii=False)
    )


def crash_name() -> str:
    """Return the beginning of a crash report's name: when, and which process."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{os.getpid()}"


class _Writer:
    """Writes the file, from one thread. Another process may replace the file at any time."""

    def __init__(self, locations: Locations, max_bytes: int, files: int) -> None:
        self._locations = locations
        self._path = locations.log_file
        self._max_bytes = max_bytes
        self._files = files
        self._fd: int | None = None

    def write(self, line: bytes) -> None:
        fd = self._open()
        if os.fstat(fd).st_size + len(line) > self._max_bytes:
            self._rotate(fd, len(line))
            fd = self._open()
        os.write(fd, line)

    def close(self) -> None:
        if self._fd is not None:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = None

    def _open(self) -> int:
        if self._fd is not None and not self._is_current(self._fd):
            self.close()
        if self._fd is None:
            private_directory(self._path.parent)
            self._fd = systems.open_file(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | systems.CLOEXEC, 0o600)
        return self._fd

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(fd))
        except FileNotFoundError:
            return False

    def _rotate(self, fd: int, coming: int) -> None:
        """Shift the files by one, unless another process is doing so or has just done so."""
        guard = systems.open_file(
            private_directory(self._locations.locks) / "log.lock", os.O_RDWR | os.O_CREAT | systems.CLOEXEC, 0o600
        )
        try:
            systems.lock(guard, wait=True)
            if not self._is_current(fd) or os.fstat(fd).st_size + coming <= self._max_bytes:
                return
            for number in range(self._files - 1, 0, -1):
                source = self._numbered(number - 1)
                with suppress(FileNotFoundError):
                    systems.replace(source, self._numbered(number))
            if self._files <= 1:
                self._path.unlink(missing_ok=True)
        finally:
            os.close(guard)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}") if number else self._path


def _home_pattern() -> re.Pattern[str]:
    """Compile a pattern for the home directory in a text, but not for a longer or deeper path of the same letters."""
    homes = {os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))} - {"/", "", "~"}
    if not homes:
        return re.compile(r"(?!)")
    longest_first = sorted(homes, key=len, reverse=True)
    return re.compile(rf"(?<![\w./~-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w.-])")
