"""Runs commands where no shell can be kept and nothing contains a command, as on Windows: each in a fresh shell, with
the user's own rights, and only after asking. What stays between commands is the directory."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.background import Background
from north_lsp.errors import ToolError
from north_lsp.shell.containment import Containment
from north_lsp.shell.environment import UNATTENDED
from north_lsp.shell.job_processes import JobProcess, JobSpec
from north_lsp.shell.jobs import Jobs
from north_lsp.shell.options import Place, ShellOptions
from north_lsp.shell.output import OutputSink
from north_lsp.shell.plain.process import Feed, PlainProcess
from north_lsp.shell.plain.programs import Program
from north_lsp.shell.progress import show_progress, stop_after
from north_lsp.shell.results import CommandResult, ShellState
from north_lsp.storage.janitor import SHELL_FOLDER

if TYPE_CHECKING:
    from north_lsp.shell.port import Runner

ASKS = "there is no sandbox on Windows, so every command asks"


class PlainRunner:
    """Runs commands for one session. `find` returns the shell that runs them, or None."""

    def __init__(
        self,
        environ: Mapping[str, str],
        background: Background,
        start: Path,
        options: ShellOptions,
        find: Callable[[], Program | None],
    ) -> None:
        self._environ = dict(environ)
        self._background = background
        self._start = start
        self._options = options
        self._find = find
        self._cwd: Path | None = None
        self._lock = anyio.Lock()
        self._lost: str | None = None
        self._left: list[PlainProcess] = []  # of which something still runs
        self.jobs = Jobs(self._job, background)
        self.containment: Containment | None = None
        self.always_asks: str | None = ASKS
        self.sandboxed = False

    # -- what is known -----------------------------------------------------------------------------------------

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    @property
    def added(self) -> Mapping[str, str]:
        return UNATTENDED

    def is_contained(self, place: Place) -> bool:
        return False

    def argv_without_shell(self, command: str) -> list[str]:
        """Return the argv that runs a command in a terminal of the client's. Raises ToolError."""
        return self._program().in_terminal(command)

    def state(self, fallback: Path) -> ShellState:
        """Return the current state; `fallback` is the directory before the first command."""
        return ShellState(self._cwd or self._start or fallback)

    def expect(self, paths: Sequence[Path]) -> None:
        """Do nothing: there is no sandbox that would take them away."""

    # -- running -----------------------------------------------------------------------------------------------

    async def run(
        self,
        command: str,
        cwd: Path | None,
        seconds: float,
        on_output: Callable[[str], Awaitable[None]],
        place: Place = "session",
        start: Path | None = None,
        sink: OutputSink | None = None,
        enough: int | None = None,
    ) -> CommandResult:
        """Run a command until its end, the time limit or cancellation. With `cwd` it runs there and the session's
        directory stays. A command that still runs long after it has printed `enough` lines is stopped. Raises
        ToolError."""
        sink = sink or OutputSink()
        async with self._lock:
            began = time.monotonic()
            here = self._cwd = self._cwd or start or self._start
            where = cwd or here
            if not where.is_dir():
                if cwd is not None:
                    raise ToolError("NOT_FOUND", f"the directory {where} does not exist")
                where = self._cwd = start or self._start
            process = await self._started(command, where)
            hurry = _Hurry()
            code: int | None = None
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(show_progress, sink, on_output)
                    if enough is not None:
                        tasks.start_soon(stop_after, hurry, sink, enough)
                    with anyio.move_on_after(seconds) as hurry.limit:
                        code = await process.ended(sink.feed)
                    tasks.cancel_scope.cancel()
            except BaseException:
                # The turn is being cancelled: its answer must not wait until everything has ended.
                process.kill()
                self._background.start_soon(_remove, process)
                sink.finish()
                raise
            stopped = hurry.limit.cancelled_caught
            if stopped:
                process.kill()
                await process.ended(sink.feed)
            after = process.directory() if code is not None else None
            left = tuple(process.left_running())
            moved = cwd is None and place != "own" and after is not None and after != here
            if moved:
                self._cwd = after
            if left:
                self._left.append(process)
            else:
                self._background.start_soon(_remove, process)
            lost, self._lost = self._lost, None
            return CommandResult(
                code,
                sink.finish(),
                stopped and not hurry.hurried,
                round((time.monotonic() - began) * 1000),
                left,
                (after or where) if cwd is None else where,
                moved,
                lost=lost,
                enough=stopped and hurry.hurried,
            )

    # -- keeping -----------------------------------------------------------------------------------------------

    async def find_detached(self) -> list[str]:
        """Return nothing: no command continues after North here."""
        return []

    async def begin_anew(self, why: str) -> bool:
        """Go back to the first directory; the next result says `why`. Returns False, and does nothing, while a command
        runs."""
        if self._lock.locked():
            return False
        self._lost, self._cwd = why, None
        return True

    def take_over(self, other: Runner) -> None:
        """Take over the directory and the jobs of a session that ends and runs no command."""
        if isinstance(other, PlainRunner) and other._options == self._options:
            self._cwd, self._lost = other._cwd, other._lost
            self._left, other._left = other._left, []
            self.jobs.take_over(other.jobs)

    async def end_all(self, grace: float) -> None:
        """End the jobs and whatever earlier commands left running. The runner can be used again afterwards."""
        await self.jobs.end_all(grace)
        left, self._left = self._left, []
        for process in left:
            await _remove(process)

    # -- inside ------------------------------------------------------------------------------------------------

    def _program(self) -> Program:
        program = self._find()
        if program is None:
            wanted = self._options.path
            missing = "neither Git Bash nor PowerShell was found" if wanted is None else f"{wanted} was not found"
            raise ToolError("UNAVAILABLE", f"{missing}: install Git for Windows, or set shell.path")
        return program

    async def _started(self, command: str, cwd: Path, *, reads: bool = False) -> PlainProcess:
        """Start a command. Raises ToolError."""
        program = await anyio.to_thread.run_sync(self._program)
        prefixed = f"{self._options.prefix} {command}" if self._options.prefix else command
        environ = {**self._environ, **_OF_KIND.get(program.kind, {})}
        folder = await anyio.to_thread.run_sync(_own_folder)
        start = partial(PlainProcess.start, program, prefixed, cwd, environ, folder, reads=reads)
        made: list[PlainProcess] = []
        try:
            await anyio.to_thread.run_sync(lambda: made.append(start()))
        except BaseException:
            for process in made:
                process.kill()
                self._background.start_soon(_remove, process)
            if not made:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return made[0]

    async def _job(self, job: JobSpec) -> JobProcess:
        """Start a job. Raises ToolError."""
        if job.output is not None:
            raise ToolError("UNAVAILABLE", "on Windows nothing outlives North: start it without `keep`")
        return PlainJob(await self._started(job.command, job.cwd, reads=True))


_OF_KIND = {"bash": {"MSYS": "winsymlinks:nativestrict", "CHERE_INVOKING": "1"}}


class _Hurry:
    """Ends a command's time limit early."""

    def __init__(self) -> None:
        self.limit = anyio.CancelScope()
        self.hurried = False

    def hurry(self) -> None:
        self.hurried = True
        self.limit.deadline = -math.inf


class PlainJob:
    """The process of a job."""

    hidden = "\0"

    def __init__(self, process: PlainProcess) -> None:
        self._process = process
        self.pid = process.pid

    async def run(self, feed: Feed) -> int | None:
        return await self._process.ended_whole(feed)

    def asked(self) -> list[int]:
        """Return nothing: a program of Windows' cannot be asked to end by another one."""
        return []

    def end_now(self) -> None:
        self._process.kill()

    def send(self, data: bytes) -> int:
        return self._process.send(data)

    async def detach(self) -> None:
        await _remove(self._process)


async def _remove(process: PlainProcess) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(_removed, process)


def _removed(process: PlainProcess) -> None:
    process.close()
    held = _held.pop(process.folder, None)
    if held is not None:
        os.close(held)
    shutil.rmtree(process.folder, ignore_errors=True)


_held: dict[Path, int] = {}
"""A lock on each folder, which tells other processes that it is needed."""


def _own_folder() -> Path:
    folder = Path(systems.true_path(tempfile.mkdtemp(prefix=SHELL_FOLDER)))
    _held[folder] = systems.lock_folder(folder)
    return folder
