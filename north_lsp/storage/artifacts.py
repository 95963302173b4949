"""Full outputs of a conversation's tool calls: `<n>.<tool>.log` in the conversation's own folder."""

from __future__ import annotations

import io
import os
import threading
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.files import private_directory, read_regular, write_atomic
from north_lsp.storage.room import leave_room

MAX_TOTAL_BYTES = 500 * 1024 * 1024
MAX_HELD_BYTES = 64 * 1024 * 1024
MAX_ARTIFACT_BYTES = 128 * 1024 * 1024
CLOSED = "closed_to_models"
"""The tool of those that no model may read."""
_NAME = lazy_pattern(r"(\d+)\.[A-Za-z0-9_-]*\.log")
_UNSAFE = lazy_pattern(r"[^A-Za-z0-9_-]")


class Artifacts:
    """The artifacts of one conversation. What cannot be written is kept in memory as far as it fits. Threads may share
    it."""

    def __init__(self, folder: Path, total: int = MAX_TOTAL_BYTES) -> None:
        self.folder = folder
        self._total = total
        self._held: dict[int, str] = {}
        self._held_closed: set[int] = set()
        self._lock = threading.Lock()
        self._highest: int | None = None

    def add(self, tool: str, text: str) -> int:
        """Keep a text and return its number, one more than the highest so far."""
        with self._lock:
            number = self._next()
            data = text.encode("utf-8", "replace")
            try:
                leave_room(self.folder)
                private_directory(self.folder)
                write_atomic(self.place(number, tool), data)
                self._make_room()
            except OSError:
                self._held[number] = text
                self._held_closed |= {number} if tool == CLOSED else set()
                while sum(map(len, self._held.values())) > MAX_HELD_BYTES and len(self._held) > 1:
                    del self._held[min(self._held)]
            return number

    def stream(self, tool: str) -> ArtifactStream:
        """Return a stream for a text that comes piece by piece; it gets its number with the first piece."""
        return ArtifactStream(self, tool)

    def begin(self, tool: str) -> tuple[int, io.FileIO]:
        """Create the empty file of a new number. Raises OSError."""
        with self._lock:
            leave_room(self.folder)
            number = self._next()
            private_directory(self.folder)
            path = self.place(number, tool)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.NOFOLLOW | systems.CLOEXEC
            return number, io.FileIO(
                systems.open_file(path, flags, 0o600), "wb"
            )  # unbuffered: it is read while it grows

    def reserve(self, tool: str) -> tuple[int, Path]:
        """Create the empty file of a new number, for other code to write. Raises OSError."""
        number, file = self.begin(tool)
        file.close()
        return number, self.place(number, tool)

    def place(self, number: int, tool: str) -> Path:
        """Return where an artifact of a tool is stored."""
        return self.folder / f"{number}.{_UNSAFE.sub('-', tool)}.log"

    def make_room(self) -> None:
        """Remove the oldest until the limit is kept, never the newest."""
        with self._lock:
            self._make_room()

    def numbers(self) -> list[int]:
        """Return the numbers that models can read."""
        with self._lock:
            stored = (number for number, path in self._stored().items() if path.name != f"{number}.{CLOSED}.log")
            return sorted({*stored, *self._held} - self._held_closed)

    def is_closed(self, number: int) -> bool:
        """Tell whether no model may read one."""
        with self._lock:
            return number in self._held_closed or (self.folder / f"{number}.{CLOSED}.log").exists()

    def read(self, number: int) -> str:
        """Read the whole text. Raises ToolError: NOT_FOUND naming what there is, IO_ERROR."""
        with self._lock:
            if number in self._held:
                return self._held[number]
            stored = self._stored()
            path = stored.get(number)
            if path is None:
                raise self._missing(number, sorted({*stored, *self._held}))
            try:
                return read_regular(path, MAX_ARTIFACT_BYTES).decode("utf-8", "replace")
            except FileNotFoundError:
                raise self._missing(number, sorted(stored)) from None
            except OSError as error:
                raise ToolError("IO_ERROR", f"output {number} cannot be read: {error.strerror}") from error

    def _missing(self, number: int, known: list[int]) -> ToolError:
        if not known and not self._highest:
            return ToolError("NOT_FOUND", "no artifacts in this conversation")
        if number <= max([*known, self._highest or 0]) and number > 0 and number < min(known, default=number + 1):
            return ToolError("NOT_FOUND", f"output {number} was removed to save space")
        shown = ", ".join(map(str, known[-20:])) or "none"
        return ToolError("NOT_FOUND", f"there is no output {number}", f"these can be read: {shown}")

    def _next(self) -> int:
        highest = max([*self._stored(), *self._held, self._highest or 0], default=0)
        self._highest = highest + 1
        return self._highest

    def _stored(self) -> dict[int, Path]:
        found: dict[int, Path] = {}
        with suppress(OSError):
            for path in self.folder.iterdir():
                match = _NAME.fullmatch(path.name)
                if match is not None:
                    found[int(match[1])] = path
        return found

    def _make_room(self) -> None:
        """Remove the oldest until the limit is kept, never the newest."""
        stored = self._stored()
        sizes: dict[int, int] = {}
        for number, path in stored.items():
            with suppress(OSError):
                sizes[number] = path.lstat().st_size
        total = sum(sizes.values())
        for number in sorted(sizes)[:-1]:
            if total <= self._total:
                return
            with suppress(OSError):
                stored[number].unlink()
                total -= sizes[number]


class ArtifactStream:
    """An artifact while it is being written. `number` is None while it has no text, and if it could not be written;
    nothing raises."""

    def __init__(self, artifacts: Artifacts, tool: str) -> None:
        self.number: int | None = None
        self._artifacts = artifacts
        self._tool = tool
        self._file: io.FileIO | None = None
        self._left = MAX_ARTIFACT_BYTES - 100
        self._failed = False

    def write(self, text: str) -> None:
        if self._failed or self._left <= 0:
            return
        data = text.encode("utf-8", "replace")
        try:
            if self._file is None:
                self.number, self._file = self._artifacts.begin(self._tool)
            else:
                leave_room(self._artifacts.folder)
            _write(self._file, data[: self._left])
            self._left -= len(data)
            if self._left <= 0:
                _write(self._file, f"\n… cut: longer than {MAX_ARTIFACT_BYTES} bytes …\n".encode())
        except OSError:
            self._give_up()

    def close(self) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError:
            self._give_up()
        self._file = None
        self._artifacts.make_room()

    def _give_up(self) -> None:
        number, self._failed, self.number = self.number, True, None
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None
        if number is not None:
            with suppress(OSError):
                self._artifacts.place(number, self._tool).unlink()  # a part would count as the whole


def _write(file: io.FileIO, data: bytes) -> None:
    """Write all of it: a disk that is nearly full takes a part. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
