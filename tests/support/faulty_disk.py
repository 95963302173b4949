"""A disk on which one call fails. Every open, write, fsync, rename, removal and similar call below a folder is counted,
those through file objects and what SQLite is told to do with its databases there, too."""

import builtins
import errno
import io
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_BY_PATH = ("open", "replace", "rename", "link", "symlink", "mkdir", "rmdir", "unlink", "utime", "chmod", "truncate")
_BY_DESCRIPTOR = ("write", "pwrite", "fsync", "fdatasync", "ftruncate", "fchmod")
_WRITING = frozenset("wax+")
_FILLING = frozenset({"write", "pwrite", "fsync", "mkdir", "sql BEGIN", "sql INSERT", "sql CREATE", "sql COMMIT"})
_SQLITE = {errno.ENOSPC: "database or disk is full", errno.EROFS: "attempt to write a readonly database"}


class FaultyDisk:
    """`calls` are those that were made, by name and file; the call with the number `fails_at` (from 1) fails. While the
    disk `is_full`, whatever writes fails."""

    def __init__(self, folder: Path, fails_at: int = 0, error: int = errno.ENOSPC) -> None:
        self.calls: list[str] = []
        self.is_full = False
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
            patch.setattr(os, "fdopen", self._buffered(os.fdopen))
            patch.setattr(builtins, "open", self._buffered(builtins.open))
            patch.setattr(io, "FileIO", self._raw(io.FileIO))
            patch.setattr(sqlite3, "connect", self._connect(sqlite3.connect))
            yield

    def _count(self, name: str, path: str) -> None:
        self.calls.append(f"{name} {os.path.relpath(path, self._folder)}")
        is_refused = self.is_full and name in _FILLING
        if is_refused or len(self.calls) == self._fails_at:
            if name.startswith("sql "):
                raise sqlite3.OperationalError(_SQLITE.get(self._error, "disk I/O error"))
            raise OSError(self._error, os.strerror(self._error), path)

    def _is_below(self, path: object) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(self._folder + os.sep)

    def _by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **named: Any) -> Any:
            below = self._is_below(path) or (name in ("link", "symlink") and bool(args) and self._is_below(args[0]))
            if below:
                self._count(name, os.fsdecode(path))
            result = real(path, *args, **named)
            if below and name == "open":
                self._files[result] = os.fsdecode(path)
            return result

        return call

    def _by_descriptor(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(fd: int, *args: Any) -> Any:
            if fd in self._files:
                self._count(name, self._files[fd])
            return real(fd, *args)

        return call

    def _raw(self, real: type[io.FileIO]) -> Callable[..., io.FileIO]:
        """Count what is written through a file object to a file that was opened here."""
        disk = self

        def opened(file: Any, mode: str = "r", *args: Any, **named: Any) -> io.FileIO:
            if not isinstance(file, int) or file not in disk._files:
                return real(file, mode, *args, **named)
            path = disk._files[file]

            class Counted(real):  # type: ignore[valid-type, misc]  # the class as it was
                def write(self, data: Any) -> int:
                    disk._count("write", path)
                    return int(super().write(data))

                def close(self) -> None:
                    disk._files.pop(file, None)
                    super().close()

            return Counted(file, mode)

        return opened

    def _buffered(self, real: Callable[..., Any]) -> Callable[..., Any]:
        raw = self._raw(io.FileIO)

        def opened(file: Any, mode: str = "r", *args: Any, **named: Any) -> Any:
            if not isinstance(file, int) or file not in self._files or not _WRITING & set(mode):
                return real(file, mode, *args, **named)
            assert "b" in mode, "North's own files are written as bytes"
            return io.BufferedWriter(raw(file, mode.replace("b", "")))

        return opened

    def _connect(self, real: Callable[..., Any]) -> Callable[..., Any]:
        disk = self

        def connect(path: Any, *args: Any, **named: Any) -> Any:
            if not disk._is_below(path):
                return real(path, *args, **named)

            class Counted(sqlite3.Connection):
                def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
                    disk._count(f"sql {statement.split(maxsplit=1)[0]}", os.fsdecode(path))
                    return super().execute(statement, *values)

            return real(path, *args, factory=Counted, **named)

        return connect

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
