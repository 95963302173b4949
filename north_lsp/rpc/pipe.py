"""Byte pipes under a peer: descriptors (stdio) and a socket (TCP). Writes wait for the reader."""

import os
from typing import Protocol

import anyio
import anyio.abc

from north_lsp import unix

_CHUNK = 64 * 1024


class PipeClosed(Exception):
    """The other side no longer reads."""


class Pipe(Protocol):
    async def receive(self) -> bytes:
        """Return the next bytes; empty at the end of input."""
        ...

    async def send(self, data: bytes) -> None:
        """Write everything, waiting for the reader. Raises PipeClosed."""
        ...

    def abort(self) -> None:
        """Make a `send` that waits for a reader give up."""
        ...


class DescriptorPipe:
    """Two file descriptors, non-blocking where the system can wait for them (pipes, sockets, terminals)."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._closed = False
        self._waiting: anyio.CancelScope | None = None
        unix.set_blocking(read_fd, blocking=False)
        unix.set_blocking(write_fd, blocking=False)

    async def receive(self) -> bytes:
        while True:
            try:
                return os.read(self._read_fd, _CHUNK)
            except BlockingIOError:
                await anyio.wait_readable(self._read_fd)
            except ConnectionResetError:
                return b""

    async def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._closed:
                raise PipeClosed
            try:
                view = view[os.write(self._write_fd, view) :]
            except BlockingIOError:
                with anyio.CancelScope() as self._waiting:
                    await anyio.wait_writable(self._write_fd)
                self._waiting = None
            except OSError as error:
                self._closed = True
                raise PipeClosed from error

    def abort(self) -> None:
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()


class SocketPipe:
    """A connected socket."""

    def __init__(self, stream: anyio.abc.SocketStream) -> None:
        self._stream = stream
        self._waiting: anyio.CancelScope | None = None
        self._closed = False

    async def receive(self) -> bytes:
        try:
            return await self._stream.receive(_CHUNK)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""

    async def send(self, data: bytes) -> None:
        if self._closed:
            raise PipeClosed
        try:
            with anyio.CancelScope() as self._waiting:
                await self._stream.send(data)
                return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self._closed = True
            raise PipeClosed from error
        raise PipeClosed

    def abort(self) -> None:
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()
