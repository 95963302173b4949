"""Background commands: each runs in its own shell, its output is kept, and it ends with the session at the latest."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.background import Background
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.detached import DetachedJob, DetachedProcess
from north_lsp.shell.job_processes import JobProcess, JobSpec
from north_lsp.shell.options import Place
from north_lsp.shell.output import OutputSink, Spill
from north_lsp.shell.processes import send

MAX_RUNNING = 8
MAX_KEPT = 50
_FIRST_OUTPUT_SECONDS = 2.0
_GRACE_SECONDS = 2.0
_POLL_SECONDS = 0.05
_CONNECT_SECONDS = 0.2

Start = Callable[[JobSpec], Awaitable[JobProcess]]


@dataclass
class Job:
    """A command in the background. `exit_code` is negative for a signal, and None while the command runs or if it is
    unknown. `place` is the place of the shell that it runs like. A job with a `detached_job` continues after North;
    cancelling its `scope` lets it go."""

    id: str
    command: str
    cwd: Path
    sink: OutputSink
    process: JobProcess
    started: float = field(default_factory=time.monotonic)
    exit_code: int | None = None
    seconds: float | None = None
    killed: bool = False
    detached_job: DetachedJob | None = None
    place: Place = "outside"
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    ended: anyio.Event = field(default_factory=anyio.Event)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return not self.ended.is_set()

    def state(self) -> str:
        """Describe the job's state to the model and to the user."""
        taken = time.monotonic() - self.started if self.seconds is None else self.seconds
        if self.running:
            return f"running for {taken:.0f} s{', and outlives North' if self.detached_job else ''}"
        how = (
            "killed"
            if self.killed
            else "missing exit status"
            if self.exit_code is None
            else f"exit code {self.exit_code}"
        )
        return f"ended after {taken:.0f} s: {how}"


@dataclass
class _Elsewhere:
    """An artifact that another process writes."""

    number: int | None

    def write(self, text: str) -> None: ...

    def close(self) -> None: ...


class Jobs:
    """One session's jobs. `start` starts a command's process."""

    def __init__(self, start: Start, background: Background) -> None:
        self._start = start
        self._background = background
        self._jobs: dict[str, Job] = {}
        self._count = 0
        self._news: list[str] = []

    def all(self) -> list[Job]:
        return list(self._jobs.values())

    def find(self, id: str) -> Job:
        """Return the job with this id. Raises ToolError NOT_FOUND naming the jobs there are."""
        job = self._jobs.get(id)
        if job is None:
            known = "; ".join(f"{one.id} ({one.state()})" for one in self.all()) or "there are none"
            raise ToolError("NOT_FOUND", f"there is no job {id!r}", f"jobs: {known}")
        return job

    def take_news(self) -> list[str]:
        """Return one line for each job that has ended since the last call."""
        news, self._news = self._news, []
        return news

    async def begin(
        self,
        command: str,
        place: Place,
        cwd: Path,
        spill: Callable[[], Spill] | None = None,
        keep: tuple[int, Path] | None = None,
    ) -> Job:
        """Start a command. Returns at its first output, after two seconds or at its end. With `keep`, the number of an
        artifact and its empty file, it prints there and continues after North. Raises ToolError."""
        running = [job for job in self.all() if job.running]
        if len(running) >= MAX_RUNNING:
            names = ", ".join(job.id for job in running)
            message = f"{MAX_RUNNING} jobs are already running: {names}"
            raise ToolError("CONFLICT", message, "end one with job (action kill)")
        if not cwd.is_dir():
            raise ToolError("NOT_FOUND", f"the directory {cwd} does not exist")
        self._count += 1
        id = str(self._count)
        process = await self._start(JobSpec(f"job-{id}", command, place, cwd, keep[1] if keep else None))
        number = keep[0] if keep else None
        sink = OutputSink(spill if number is None else lambda: _Elsewhere(number))
        sink.spill_now()
        kept = process.detached_job if isinstance(process, DetachedProcess) else None
        job = Job(id, command, cwd, sink, process, detached_job=kept, place=place)
        self._add(job)
        with anyio.move_on_after(_FIRST_OUTPUT_SECONDS):
            while job.running and not sink.total_bytes:
                await anyio.sleep(_POLL_SECONDS)
        return job

    def _add(self, job: Job) -> None:
        self._jobs[job.id] = job
        for old in [one for one in self.all() if not one.running][: max(0, len(self._jobs) - MAX_KEPT)]:
            del self._jobs[old.id]
        self._background.start_soon(self._drive, job)

    async def adopt(self, found: Sequence[DetachedJob]) -> list[str]:
        """Take over the jobs that an earlier North left running, and forget those that have ended since. Returns a line
        about each."""
        known = {job.detached_job.id for job in self.all() if job.detached_job is not None}
        told: list[str] = []
        for kept in found:
            if kept.id in known:
                continue
            what = f"`{kept.command.splitlines()[0][:100]}`, which was to outlive North,"
            if await anyio.to_thread.run_sync(kept.is_alive):
                self._count += 1
                job = Job(str(self._count), kept.command, kept.cwd, OutputSink(), DetachedProcess(kept, from_end=True))
                job.detached_job, job.started = kept, time.monotonic() - kept.age()
                self._add(job)
                told.append(f"{what} still runs: job {job.id}, pid {job.pid}")
            else:
                code = await anyio.to_thread.run_sync(kept.exit_code)
                await anyio.to_thread.run_sync(kept.forget)
                how = "missing exit status" if code is None else f"exit code {code}"
                told.append(f"{what} has ended: {how}; its output is in {kept.output}")
        self._news += told
        return told

    async def _drive(self, job: Job) -> None:
        try:
            with job.scope:
                job.exit_code = await job.process.run(job.sink.feed)
        except ToolError as error:
            job.sink.feed(error.message.encode())
        finally:
            with anyio.CancelScope(shield=True):
                await job.process.detach()
                self._finish(job)

    def _finish(self, job: Job) -> None:
        job.seconds = time.monotonic() - job.started
        job.sink.finish(hidden=job.process.hidden)
        job.ended.set()
        if not job.killed and not job.scope.cancel_called:
            self._news.append(f"job {job.id} (`{job.command.splitlines()[0][:100]}`) {job.state()}")

    def output(self, job: Job, lines: int) -> str:
        """Return the last lines of a job's output."""
        return job.sink.live(lines).replace(job.process.hidden, "")

    async def wait(self, job: Job, seconds: float, wanted: Callable[[str], bool] | None, port: int | None) -> str:
        """Wait for the job's end, for output that is `wanted`, or for a port on this machine to be open. Returns what
        happened, as a sentence."""
        seen = -1
        with anyio.move_on_after(seconds):
            while True:
                was_running = job.running
                if wanted is not None and job.sink.total_bytes != seen:
                    seen = job.sink.total_bytes
                    if await anyio.to_thread.run_sync(wanted, job.sink.text(), abandon_on_cancel=True):
                        return f"the pattern was found; job {job.id} is {job.state()}"
                if port is not None and await anyio.to_thread.run_sync(_is_open, port):
                    return f"port {port} is open; job {job.id} is {job.state()}"
                if not was_running:
                    return f"job {job.id} {job.state()}"
                await anyio.sleep(_POLL_SECONDS)
        return f"none of that happened within {seconds:g} s; job {job.id} is {job.state()}"

    async def kill(self, job: Job) -> None:
        """End the job's whole process tree: ask first, kill after two seconds. Idempotent."""
        if not job.running:
            return
        job.killed = True
        pids = job.process.asked()
        for number in (signal.SIGINT, signal.SIGTERM, systems.SIGCONT):
            send(pids, number)
        with anyio.move_on_after(_GRACE_SECONDS if pids else 0):
            await job.ended.wait()
        if job.running:
            await anyio.to_thread.run_sync(job.process.end_now)
            await job.ended.wait()

    def send(self, job: Job, text: str) -> None:
        """Send a text to the job's input. Raises ToolError."""
        if not job.running:
            raise ToolError("CONFLICT", f"job {job.id} {job.state()}")
        data = text.encode("utf-8", "replace")
        try:
            written = job.process.send(data)
        except OSError:
            raise ToolError("CONFLICT", f"job {job.id} has no input") from None
        if written < len(data):
            raise ToolError(
                "CONFLICT", f"job {job.id} took only {written} of {len(data)} bytes: it does not read its input"
            )

    def take_over(self, other: Jobs) -> None:
        """Take over the jobs of a session that ends."""
        self._jobs, self._count, self._news = other._jobs, other._count, other._news
        other._jobs, other._news = {}, []

    async def end_all(self, grace: float) -> None:
        """End all running jobs at the same time; detached jobs are let go."""
        for job in [job for job in self.all() if job.running and job.detached_job is not None]:
            job.scope.cancel()
            await job.ended.wait()
            del self._jobs[job.id]
        running = [job for job in self.all() if job.running]
        for job in running:
            job.killed = True
            send(job.process.asked(), signal.SIGTERM)
        with anyio.move_on_after(grace):
            for job in running:
                await job.ended.wait()
        async with anyio.create_task_group() as tasks:
            for job in running:
                if job.running:
                    tasks.start_soon(self._end, job)

    async def _end(self, job: Job) -> None:
        await anyio.to_thread.run_sync(job.process.end_now)
        with contextlib.suppress(TimeoutError):
            with anyio.fail_after(_GRACE_SECONDS):
                await job.ended.wait()


def _is_open(port: int) -> bool:
    for address in ("127.0.0.1", "::1"):
        with contextlib.suppress(OSError), socket.create_connection((address, port), _CONNECT_SECONDS):
            return True
    return False
