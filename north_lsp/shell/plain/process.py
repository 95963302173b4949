"""One command in a shell of its own, with everything that it starts: its output is read while it runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.shell.plain.programs import Program

_CHUNK = 65_536
_POLL_SECONDS = 0.02
_IDLE_SECONDS, _LAST_SECONDS = 0.25, 2.0
_LONGEST_PATH = 32_768

Feed = Callable[[bytes], None]


class PlainProcess:
    """A running command. `folder` is its own, and removed with it."""

    def __init__(self, tree: systems.Tree, folder: Path, output: int, stdin: int | None) -> None:
        self._tree = tree
        self.folder = folder
        self._output = output
        self._stdin = stdin
        self._closed = False
        self._read: list[bytes] = []
        self._read_lock = threading.Lock()
        self._reader = threading.Thread(target=self._read_all, daemon=True)
        self._reader.start()

    @classmethod
    def start(
        cls, program: Program, command: str, cwd: Path, environ: Mapping[str, str], folder: Path, *, reads: bool = False
    ) -> PlainProcess:
        """Start a command; with `reads` it can be sent input. Blocks. Raises ToolError."""
        script, around = folder / f"command{program.suffix}", folder / f"around{program.suffix}"
        ours, theirs = os.pipe()
        given, stdin = os.pipe() if reads else (None, None)
        try:
            script.write_bytes(program.own(command))
            around.write_bytes(program.around(str(script), str(folder / _DIRECTORY)))
            tree = systems.start_tree(
                program.argv(str(around)),
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.DEVNULL if given is None else given,
                stdout=theirs,
                stderr=subprocess.STDOUT,
            )
        except (OSError, ValueError) as error:
            for descriptor in filter(None, (ours, stdin)):
                os.close(descriptor)
            reason = error.strerror if isinstance(error, OSError) else error
            raise ToolError("UNAVAILABLE", f"{program.path} could not be started: {reason}") from None
        finally:
            for descriptor in filter(None, (theirs, given)):
                os.close(descriptor)
        return cls(tree, folder, ours, stdin)

    @property
    def pid(self) -> int:
        return self._tree.process.pid

    @property
    def is_running(self) -> bool:
        return self._tree.process.poll() is None

    def left_running(self) -> list[int]:
        """Return the processes that the command left behind."""
        return [pid for pid in self._tree.processes() if pid != self.pid]

    async def ended(self, feed: Feed) -> int:
        """Wait for the command's end, handing out its output. Returns the exit code. What it left running may hold the
        output open: of that, only a moment more is read."""
        while self.is_running:
            self._hand_out(feed)
            await anyio.sleep(_POLL_SECONDS)
        waited, idle = 0.0, 0.0
        while self._reader.is_alive() and waited < _LAST_SECONDS and idle < _IDLE_SECONDS:
            idle = 0.0 if self._hand_out(feed) else idle + _POLL_SECONDS
            waited += _POLL_SECONDS
            await anyio.sleep(_POLL_SECONDS)
        self._hand_out(feed)
        return self._tree.process.wait()

    async def ended_whole(self, feed: Feed) -> int:
        """Wait for the end of the command and of everything that it left running. Returns the command's exit code."""
        code = await self.ended(feed)
        while self.left_running():
            self._hand_out(feed)
            await anyio.sleep(_POLL_SECONDS)
        self._hand_out(feed)
        return code

    def directory(self) -> Path | None:
        """Return the directory that the command ended in, as its shell wrote it down; None if that is no absolute path
        of a folder."""
        try:
            with (self.folder / _DIRECTORY).open("rb") as file:
                text = file.read(_LONGEST_PATH).decode("utf-8", "replace").strip("\r\n\ufeff ")
        except OSError:
            return None
        return Path(text) if text and os.path.isabs(text) and os.path.isdir(text) else None

    def send(self, data: bytes) -> int:
        """Send input. Raises OSError if the command has none."""
        if self._stdin is None:
            raise BrokenPipeError
        return os.write(self._stdin, data)

    def kill(self) -> None:
        """End all of it."""
        self._tree.end()

    def close(self) -> None:
        """End what is left, and let go of everything. Blocks for a moment."""
        if self._closed:
            return
        self._closed = True
        self._tree.end()
        self._tree.process.wait()
        self._tree.close()
        if self._stdin is not None:
            os.close(self._stdin)
        self._reader.join(_LAST_SECONDS)
        if not self._reader.is_alive():  # else a read is under way, and closing would wait for it
            os.close(self._output)

    def _read_all(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._output, _CHUNK):
                with self._read_lock:
                    self._read.append(data)

    def _hand_out(self, feed: Feed) -> bool:
        with self._read_lock:
            data, self._read = b"".join(self._read), []
        if data:
            feed(data)
        return bool(data)


_DIRECTORY = "directory"
