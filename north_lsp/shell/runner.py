"""Running one approved command: a fresh `bash`, no input, output in order, nothing left behind by a cancel."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.shell.output import Captured, OutputSink
from north_lsp.shell.tree import MARK, end_tree, find_tree

_UPDATE_SECONDS = 0.25
_IDLE_SECONDS = 0.25
_DRAIN_SECONDS = 2.0
_POLL_SECONDS = 0.02
_DROPPED = {"PS1", "PWD", "OLDPWD", "SHLVL", "BASH_ENV", "ENV"}
_UNATTENDED = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "LESS": "-FRX",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS": "/usr/bin/false",
    "GIT_ASKPASS": "/usr/bin/false",
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "NPM_CONFIG_YES": "true",
    "NPM_CONFIG_FUND": "false",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "NORTH": "1",
}


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of a command. `exit_code` is negative for a signal; `left_running` are processes it put aside."""

    exit_code: int
    output: Captured
    timed_out: bool
    duration_ms: int
    left_running: tuple[int, ...]


def command_environment(environ: Mapping[str, str], secret_names: frozenset[str]) -> dict[str, str]:
    """What commands inherit: no credentials of North's own, no pagers, editors or prompts."""
    kept = {
        name: value
        for name, value in environ.items()
        if name not in _DROPPED and name not in secret_names and not name.startswith("BASH_FUNC_")
    }
    return kept | _UNATTENDED


class CommandRunner:
    """Runs commands for one session and ends what they started.

    `background` owns the work of ending a process tree, so that a cancelled turn need not wait for it.
    """

    def __init__(self, environ: Mapping[str, str], background: anyio.abc.TaskGroup) -> None:
        self._environ = dict(environ)
        self._background = background
        self._marks: set[str] = set()

    async def run(self, command: str, cwd: Path, seconds: float, on_output: Callable[[str], Awaitable[None]]) -> Ran:
        """Run to the end, the time limit or cancellation. Raises ToolError when the shell cannot be started."""
        bash = shutil.which("bash", path=self._environ.get("PATH"))
        if bash is None:
            raise ToolError("UNAVAILABLE", "bash was not found on PATH", "install bash")
        mark = uuid.uuid4().hex
        started = time.monotonic()
        try:
            process = await anyio.open_process(
                [bash, "--noprofile", "--norc", "-c", command],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=self._environ | {MARK: mark},
                start_new_session=True,
            )
        except OSError as error:
            raise ToolError("UNAVAILABLE", f"{bash} could not be started: {error.strerror}") from None
        self._marks.add(mark)
        find = partial(find_tree, process.pid, mark)
        sink = OutputSink()
        timed_out = False
        try:
            with anyio.move_on_after(seconds) as limit:
                await self._follow(process, sink, on_output)
            timed_out = limit.cancelled_caught
            if timed_out:
                _interrupt(process)
                await end_tree(find)
                await self._drain(process, sink)
            code = await process.wait()
            left = tuple(await anyio.to_thread.run_sync(find))
        except BaseException:
            # The turn is being cancelled: its answer must not wait for a grace period.
            _interrupt(process)
            self._background.start_soon(self._clean_up, process, find, mark)
            raise
        if left:
            self._background.start_soon(self._discard, process)
        else:
            self._marks.discard(mark)
            await process.aclose()
        duration = round((time.monotonic() - started) * 1000)
        return Ran(code, sink.finish(), timed_out, duration, left)

    async def end_all(self, grace: float) -> None:
        """End whatever earlier commands left running."""
        marks, self._marks = self._marks, set()
        async with anyio.create_task_group() as tasks:
            for mark in marks:
                tasks.start_soon(end_tree, partial(find_tree, None, mark), grace)

    async def _clean_up(self, process: anyio.abc.Process, find: Callable[[], list[int]], mark: str) -> None:
        with anyio.CancelScope(shield=True):
            await end_tree(find)
            self._marks.discard(mark)
            await process.aclose()

    async def _follow(
        self, process: anyio.abc.Process, sink: OutputSink, on_output: Callable[[str], Awaitable[None]]
    ) -> None:
        """Read until the command has ended and its output with it, or what it left in the background falls silent."""
        last = 0.0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_end, process, tasks.cancel_scope)
            while data := await _receive(process):
                sink.feed(data)
                self._last_output = now = time.monotonic()
                if now - last >= _UPDATE_SECONDS:
                    last = now
                    await on_output(sink.live())
            await process.wait()
            tasks.cancel_scope.cancel()

    async def _watch_end(self, process: anyio.abc.Process, scope: anyio.CancelScope) -> None:
        await process.wait()
        self._last_output = ended = time.monotonic()
        while time.monotonic() - self._last_output < _IDLE_SECONDS and time.monotonic() - ended < _DRAIN_SECONDS:
            await anyio.sleep(_POLL_SECONDS)
        scope.cancel()

    async def _discard(self, process: anyio.abc.Process) -> None:
        """Go on reading what background processes print, so that they are not stopped by a closed pipe."""
        while await _receive(process):
            pass
        await process.aclose()

    async def _drain(self, process: anyio.abc.Process, sink: OutputSink) -> None:
        with anyio.move_on_after(_IDLE_SECONDS):
            while data := await _receive(process):
                sink.feed(data)


async def _receive(process: anyio.abc.Process) -> bytes:
    if process.stdout is None:
        return b""
    try:
        return await process.stdout.receive()
    except anyio.EndOfStream:
        return b""


def _interrupt(process: anyio.abc.Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGINT)
