"""A disk on which one call fails. Every open, write, fsync, rename and similar call below a folder is counted."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_BY_PATH = ("open", "replace", "rename", "link", "mkdir")
_BY_DESCRIPTOR = ("write", "pwrite", "fsync", "ftruncate")


class FaultyDisk:
    """`calls` are those that were made, by name and file; the call with the number `fails_at` (from 1) fails."""

    def __init__(self, folder: Path, fails_at: int = 0, error: int = errno.ENOSPC) -> None:
        self.calls: list[str] = []
        self._folder = os.fspath(folder)
        self._fails_at, self._error = fails_at, error
        self._files: dict[int, str] = {}

    @contextmanager
    def mounted(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for name in _BY_PATH:
                patch.setattr(os, name, self._by_path(name, getattr(os, name)))
            for name in _BY_DESCRIPTOR:
                patch.setattr(os, name, self._by_descriptor(name, getattr(os, name)))
            patch.setattr(os, "dup", self._dup(os.dup))
            patch.setattr(os, "close", self._close(os.close))
            yield

    def _count(self, name: str, path: str) -> None:
        self.calls.append(f"{name} {os.path.relpath(path, self._folder)}")
        if len(self.calls) == self._fails_at:
            raise OSError(self._error, os.strerror(self._error), path)

    def _by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **named: Any) -> Any:
            text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
            below = text.startswith(self._folder + os.sep)
            if below:
                self._count(name, text)
            result = real(path, *args, **named)
            if below and name == "open":
                self._files[result] = text
            return result

        return call

    def _by_descriptor(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(fd: int, *args: Any) -> Any:
            if fd in self._files:
                self._count(name, self._files[fd])
            return real(fd, *args)

        return call

    def _dup(self, real: Callable[[int], int]) -> Callable[[int], int]:
        def call(fd: int) -> int:
            copy = real(fd)
            if fd in self._files:
                self._files[copy] = self._files[fd]
            return copy

        return call

    def _close(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def call(fd: int) -> None:
            self._files.pop(fd, None)
            real(fd)

        return call
