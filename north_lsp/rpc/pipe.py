"""Byte pipes under a peer: descriptors (stdio) and a socket (TCP). Writes wait for the reader."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeVar

import anyio
import anyio.abc
import anyio.to_thread

from north_lsp import systems

_CHUNK = 64 * 1024

_Result = TypeVar("_Result")


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
        systems.set_blocking(read_fd, blocking=False)
        systems.set_blocking(write_fd, blocking=False)

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


class BlockingPipe:
    """Two file descriptors where the system cannot wait for them: reading and writing are on threads of their own."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._one_reads, self._one_writes = anyio.CapacityLimiter(1), anyio.CapacityLimiter(1)
        self._closed = False
        self._waiting: anyio.CancelScope | None = None

    async def receive(self) -> bytes:
        try:
            return await self._aside(partial(os.read, self._read_fd, _CHUNK), self._one_reads)
        except OSError:  # the other end was closed, or this one
            return b""

    async def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self._closed:
                raise PipeClosed
            with anyio.CancelScope() as self._waiting:
                try:
                    view = view[await self._aside(partial(os.write, self._write_fd, view[:_CHUNK]), self._one_writes) :]
                except OSError as error:
                    self._closed = True
                    raise PipeClosed from error
            self._waiting = None

    async def _aside(self, call: Callable[[], _Result], limiter: anyio.CapacityLimiter) -> _Result:
        # What is cancelled goes on in its thread: nothing can make such a call give up.
        return await anyio.to_thread.run_sync(call, abandon_on_cancel=True, limiter=limiter)

    def abort(self) -> None:
        self._closed = True
        if self._waiting is not None:
            self._waiting.cancel()


def descriptor_pipe(read_fd: int, write_fd: int) -> Pipe:
    """Make a pipe of two descriptors, as this system can."""
    return (DescriptorPipe if systems.CAN_SELECT_PIPES else BlockingPipe)(read_fd, write_fd)


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
