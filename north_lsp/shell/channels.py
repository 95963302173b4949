"""North's ends of a shell's three channels: what it prints, what it is told, what it reports."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable

import anyio
import anyio.lowlevel

from north_lsp import systems

_IDLE_SECONDS = 0.25
_DRAIN_SECONDS = 2.0
_POLL_SECONDS = 0.01
_READ = 65_536
_READS_AT_ONCE = 32
_MAX_REPORT = 4 << 20


class Channels:
    """The three channels of one shell. The descriptors do not block. `has_ended` tells whether the shell's process is
    gone; output goes to `on_bytes`, and is dropped while that is None. `drained` says that no more output can come,
    `ended` that the shell has closed its end of the reports."""

    def __init__(self, master: int, stdin: int, control: int, has_ended: Callable[[], bool]) -> None:
        self.on_bytes: Callable[[bytes], None] | None = None
        self.drained = False
        self.ended = False
        self._master = master
        self._stdin = stdin
        self._control = control
        self._has_ended = has_ended
        self._pending = b""
        self._last_output = 0.0
        self._closed = False
        self._scope: anyio.CancelScope | None = None

    def close(self) -> None:
        self._closed = True
        if self._scope is not None:
            self._scope.cancel()
        for fd in (self._stdin, self._control, self._master):
            anyio.notify_closing(fd)
            os.close(fd)

    async def tell(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "surrogateescape"))
        while data:
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stdin)
            except OSError:
                return  # the shell is gone, which its reports will show

    def is_told_all(self) -> bool:
        """Return whether the shell has read everything that it was told."""
        left = bytearray(4)
        try:
            systems.count_unread(self._stdin, left)
        except OSError:
            return False
        return not any(left)

    async def next_record(self) -> str:
        """Return the next record, up to a NUL; empty once the shell has closed its end."""
        while b"\0" not in self._pending:
            if self.ended or len(self._pending) > _MAX_REPORT:
                self.ended = True
                return ""
            try:
                data = os.read(self._control, _READ)
            except BlockingIOError:
                await anyio.wait_readable(self._control)
                continue
            self.ended = not data
            self._pending += data
        record, _, self._pending = self._pending.partition(b"\0")
        return record.decode("utf-8", "surrogateescape")

    async def pump(self) -> None:
        """Read the output at all times: a background process would block on a full terminal."""
        with anyio.CancelScope() as self._scope:
            while not self._closed:
                has_ended = self._has_ended()  # checked first: it may print its last output in between
                data = self._read_some()
                if data is None:
                    return
                if data:
                    self._last_output = time.monotonic()
                    if self.on_bytes is not None:
                        self.on_bytes(data)
                    await anyio.lowlevel.checkpoint()
                    continue
                self.drained = has_ended
                with contextlib.suppress(anyio.ClosedResourceError):
                    await anyio.wait_readable(self._master)

    def _read_some(self) -> bytes | None:
        """Read what is available at once; None at the end."""
        pieces: list[bytes] = []
        for _ in range(_READS_AT_ONCE):
            try:
                piece = os.read(self._master, _READ)
            except BlockingIOError:
                break
            except OSError as error:  # EIO: no process has the terminal open any more
                if error.errno != errno.EIO or not pieces:
                    self.drained = True
                    return b"".join(pieces) or None
                break
            if not piece:  # the same for a pipe
                self.drained = True
                return b"".join(pieces) or None
            pieces.append(piece)
        return b"".join(pieces)

    async def until_silent(self) -> None:
        """Wait until no more output comes: what background processes print right after the end still belongs to the
        command."""
        ended = self._last_output = time.monotonic()
        while time.monotonic() - self._last_output < _IDLE_SECONDS and time.monotonic() - ended < _DRAIN_SECONDS:
            await anyio.sleep(_POLL_SECONDS)
