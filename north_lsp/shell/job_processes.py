"""What a job runs in: a shell of its own or, where no shell can be kept, a bash for its one command."""

from __future__ import annotations

import math
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.bash import Bash
from north_lsp.shell.factory import ShellMaker
from north_lsp.shell.options import Place
from north_lsp.shell.processes import end_now
from north_lsp.shell.report import exporting
from north_lsp.shell.spawning import StartFailed
from north_lsp.shell.tree import end_tree, find_tree

_INPUT = "input"

Feed = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A command to start in the background. `name` is the name of its folder, `mark` is put into its environment; with
    `output`, an empty file, it continues after North and prints there."""

    name: str
    command: str
    place: Place
    cwd: Path
    output: Path | None = None
    mark: str = field(default_factory=lambda: os.urandom(16).hex())


class JobProcess(Protocol):
    """A running command. `hidden` is left out of its output."""

    @property
    def pid(self) -> int: ...

    @property
    def hidden(self) -> str: ...

    async def run(self, feed: Feed) -> int | None:
        """Take its output until it and everything it left running have ended. Returns the exit code, negative for a
        signal, None if unknown. Raises ToolError."""
        ...

    def asked(self) -> list[int]:
        """Return the processes that are asked to end."""
        ...

    def end_now(self) -> None:
        """Kill all of it. Blocks."""
        ...

    def send(self, data: bytes) -> int:
        """Send input to the command. Returns how many bytes were accepted. Raises OSError if it has no input."""
        ...

    async def detach(self) -> None:
        """Release all resources; what still runs is ended, except for a detached job."""
        ...


async def start_job(
    maker: ShellMaker, job: JobSpec, changes: Mapping[str, str | None], *, contained: bool, needs: bool = False
) -> ShellProcess:
    """Start a job. `changes` are variables that the session's commands have set or (None) unset. Raises ToolError."""
    setup = "; ".join(exporting(changes, {})) or "\\builtin :"
    if maker.can_keep:
        try:
            bash = await maker.make(job.name, job.cwd, contained=contained, needs=needs)
        except StartFailed:
            pass
        else:
            try:
                input = _open_input(bash.folder)
            except ToolError:
                bash.kill()
                raise
            run = partial(_run_kept, bash, job, setup, bash.inside(_INPUT))
            return ShellProcess(bash, input, run, job.mark)
    _, folder, _ = await maker.place(job.name, contained=False)
    input = _open_input(folder)
    try:
        command = f"{setup}\n{job.command}" if changes else job.command
        bash = await maker.single(
            job.name, job.cwd, command, job.mark, contained=contained, needs=needs, stdin=_INPUT, waits=True
        )
    except BaseException:
        os.close(input)
        raise
    return ShellProcess(bash, input, partial(_run_single, bash), job.mark)


async def _run_kept(bash: Bash, job: JobSpec, setup: str, stdin: str, feed: Feed) -> int | None:
    ended = await bash.run(job.command, setup, math.inf, feed, job.mark, stdin)
    if not ended.gone:
        await bash.until_childless(feed)
    elif bash.ended_because:
        feed(f"\n{bash.ended_because}\n".encode())
    return ended.exit_code


async def _run_single(bash: Bash, feed: Feed) -> int | None:
    return (await bash.run_once(math.inf, feed)).exit_code


def _open_input(folder: Path) -> int:
    """Create the pipe that the job reads from, and open it. Raises ToolError."""
    try:
        systems.make_fifo(folder / _INPUT, 0o600)
        return os.open(folder / _INPUT, os.O_RDWR | systems.NONBLOCK | systems.CLOEXEC)
    except OSError as error:
        raise ToolError("IO_ERROR", f"the job's input cannot be created: {error.strerror}") from None


class ShellProcess:
    """The process of a job that ends with North."""

    def __init__(self, bash: Bash, input: int, run: Callable[[Feed], Awaitable[int | None]], mark: str) -> None:
        self.pid = bash.pid
        self._run = run
        self.bash = self._bash = bash
        self._input: int | None = input
        self._mark = mark

    async def run(self, feed: Feed) -> int | None:
        return await self._run(feed)

    @property
    def hidden(self) -> str:
        return f"{self._bash.script}: "

    def asked(self) -> list[int]:
        return sorted(self._bash.processes(), reverse=True)

    def end_now(self) -> None:
        bash = self._bash
        end_now(lambda: [*bash.processes(), bash.pid] if bash.alive else [])

    def send(self, data: bytes) -> int:
        if self._input is None:
            raise BrokenPipeError
        try:
            return os.write(self._input, data)
        except BlockingIOError:
            return 0

    async def detach(self) -> None:
        await anyio.to_thread.run_sync(self.end_now)
        self._bash.close()
        # The processes of a shell that ended by itself now have other parents.
        await end_tree(partial(find_tree, None, self._mark), 0.0)
        if self._input is not None:
            os.close(self._input)
            self._input = None
