"""Starts background jobs, each in a shell of its own that is like the shell of its place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from north_lsp.errors import ToolError
from north_lsp.shell.containment import Containment
from north_lsp.shell.detached import DetachedProcess, start_detached
from north_lsp.shell.factory import ShellMaker
from north_lsp.shell.job_processes import JobProcess, JobSpec, start_job
from north_lsp.shell.live_shells import LiveShells


class JobStarter:
    """Starts the background jobs of one session. `records` is the folder with the records of detached jobs, `box` what
    contains jobs; without it, a job that must be contained is refused."""

    def __init__(self, maker: ShellMaker, records: Path | None, box: Containment | None) -> None:
        self._maker = maker
        self._records = records
        self._box = box

    async def start(self, job: JobSpec, shells: LiveShells, *, contained: bool, needs: bool) -> JobProcess:
        """Start a job, which finds the variables that its place's shell has. If it `needs` the whole sandbox, it does
        not start without it. Raises ToolError."""
        changes = shells.changed_variables(job.place)
        if job.output is not None:
            return await self._start_detached(job, shells, changes, job.output, contained=contained)
        if not contained or self._box is None:
            return await start_job(self._maker, job, changes, contained=contained)
        async with _inside(self._box):
            process = await start_job(self._maker, job, changes, contained=True, needs=needs)
            shells.of_jobs.append(process.bash)
        return process

    async def _start_detached(
        self, job: JobSpec, shells: LiveShells, changes: Mapping[str, str | None], output: Path, *, contained: bool
    ) -> DetachedProcess:
        if self._records is None:
            raise ToolError("UNAVAILABLE", "nothing can outlive North here")
        start = partial(start_detached, self._maker, self._records, job, changes, output, contained=contained)
        if not contained or self._box is None:
            return await start()
        async with _inside(self._box):
            process = await start()
            shells.detached.append(process)
        return process


@asynccontextmanager
async def _inside(box: Containment) -> AsyncIterator[None]:
    """Start something that continues in the sandbox: what it leaves there is looked at from now on."""
    await box.enter()
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            box.keep_quarantined(await box.leave())
    box.patrol()
