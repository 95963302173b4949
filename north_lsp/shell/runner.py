"""The shells of one session: each command finds what earlier ones changed, and a cancel leaves nothing running.

Each shell is started when it is first needed: `session` for what the user approves, `contained` for what runs without
asking, `clean` for what a rule allows (nothing else ever runs there, so no earlier command can have changed what a word
means), both always in the sandbox, `bare` instead of `clean` where the sandbox does not hold, `outside` for what the
user lets run without the sandbox, `own` for the user's own commands while a turn runs. All share one directory;
harmless variables are carried from `session` to the others.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import anyio
import anyio.to_thread

from north_lsp.background import Background
from north_lsp.errors import ToolError
from north_lsp.shell.bash import Bash, Ended
from north_lsp.shell.containment import Containment
from north_lsp.shell.detached import find_detached
from north_lsp.shell.ending import end_shell, end_shells
from north_lsp.shell.environment import UNATTENDED
from north_lsp.shell.factory import ShellMaker
from north_lsp.shell.job_processes import JobProcess, JobSpec
from north_lsp.shell.job_starter import JobStarter
from north_lsp.shell.jobs import Jobs
from north_lsp.shell.live_shells import LiveShell, LiveShells
from north_lsp.shell.options import UNASKED, Place, ShellOptions
from north_lsp.shell.output import OutputSink
from north_lsp.shell.pool import ShellPool
from north_lsp.shell.progress import show_progress, stop_after
from north_lsp.shell.report import meaning_changed
from north_lsp.shell.results import CommandResult, ShellState
from north_lsp.shell.sandbox import Sandbox, support
from north_lsp.shell.spawning import StartFailed
from north_lsp.shell.tree import end_tree, find_tree

if TYPE_CHECKING:
    from north_lsp.shell.port import Runner

_POLL_SECONDS = 0.02


class CommandRunner:
    """Runs commands for one session and ends what they started.

    `background` owns the work of ending a process tree, so that a cancelled turn need not wait for it. Without
    `sandbox` nothing can run without asking.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        background: Background,
        start: Path | None = None,
        sandbox: Sandbox | None = None,
        withheld: frozenset[str] = frozenset(),
        options: ShellOptions | None = None,
        shell_pool: ShellPool | None = None,
        kept: Path | None = None,
    ) -> None:
        """Create the runner of one session. `kept` is the folder with the records of detached jobs."""
        self._environ = dict(environ)
        self._background = background
        self._sandbox = sandbox
        self._start = start
        self._kept = kept
        self._withheld = withheld
        self._options = options or ShellOptions()
        self._shell_pool = shell_pool or ShellPool(background)
        self._maker = ShellMaker(environ, background, sandbox, self._options)
        self.jobs = Jobs(self._job, background)
        self.always_asks: str | None = None
        self._shells = LiveShells()
        self._locks: dict[Place, anyio.Lock] = {place: anyio.Lock() for place in get_args(Place)}
        self.containment = (
            None
            if sandbox is None
            else Containment(sandbox, background, self._held_shells, self._is_busy_inside, self._end_contained_detached)
        )
        self._job_starter = JobStarter(self._maker, kept, self.containment)

    # -- what is known -----------------------------------------------------------------------------------------

    @property
    def sandboxed(self) -> bool:
        """Whether commands that the user is asked about run in the sandbox, too; not whether this machine has one."""
        return self._sandbox is not None and self._sandbox.for_asked

    def is_contained(self, place: Place) -> bool:
        """Return whether commands in this place run in the sandbox, or in as much of it as there is."""
        if place == "bare":
            return self._sandbox is not None and support().available
        return place in UNASKED or (place == "session" and self.sandboxed)

    def _place(self, place: Place) -> Place:
        """Return the place whose shell is used: `session` if its shell has the same sandboxing, so that no other is
        needed."""
        if place == ("contained" if self.sandboxed else "outside"):
            return "session"
        return place

    def _held_shells(self) -> list[Bash]:
        return self._shells.held(self.is_contained)

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables that a shell starts with."""
        return self._environ

    @property
    def added(self) -> Mapping[str, str]:
        """The variables that a program started by the client gets on top of its own environment."""
        return UNATTENDED

    def argv_without_shell(self, command: str) -> list[str]:
        """Return the argv that runs a command in its own bash, started by the client, without the variables that are
        withheld."""
        unset = [part for name in sorted(self._withheld) for part in ("-u", name)]
        return ["env", *unset, "bash", "--noprofile", "--norc", "-c", command]

    def state(self, fallback: Path) -> ShellState:
        """Return the current state; `fallback` is the directory before the first command."""
        changes: list[str] = []
        places: tuple[Place, ...] = ("session", "contained", "outside")
        for place in places:
            live = self._shells.by_place.get(place)
            if live is None or not live.bash.alive:
                continue
            first, now = live.bash.first, live.bash.report
            if first is not None and now is not None:
                changes += meaning_changed(first, now)
            if live.bash.strange_descriptors():
                changes.append("left descriptors open in the shell")
        return ShellState(self._shells.cwd or self._start or fallback, tuple(dict.fromkeys(changes)))

    def _is_busy_inside(self) -> bool:
        """Return whether anything runs in the sandbox."""
        return self._shells.is_busy_inside(self.is_contained)

    def expect(self, paths: Sequence[Path]) -> None:
        """Announce paths that are written with the user's approval while something may run in the sandbox."""
        if self.containment is not None:
            self.containment.expect(paths)

    # -- running -----------------------------------------------------------------------------------------

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
        """Run a command until its end, the time limit or cancellation. With `cwd` the command runs there and the
        session's directory stays; otherwise it runs in the session's directory, which is `start` at first. `sink` takes
        the output, and has it after a cancel, too. A command that still runs long after it has printed `enough` lines
        is stopped.

        Raises ToolError if the shell, or the sandbox that it must run in, cannot be started.
        """
        needs, place = place in UNASKED, self._place(place)
        box = self.containment
        async with self._locks[place]:
            run = partial(
                self._run, command, cwd, seconds, on_output, place, start, sink or OutputSink(), enough, needs=needs
            )
            if box is None:
                return await run()
            if not self.is_contained(place):
                await box.before_others()
                try:
                    return await run()
                finally:
                    with anyio.CancelScope(shield=True):
                        await box.accept()
            await box.enter()
            try:
                ran = await run()
            except BaseException:
                self._background.start_soon(self._leave_late, box)
                raise
            return replace(ran, taken=tuple(await box.leave()), closed=box.closed())

    async def _leave_late(self, box: Containment) -> None:
        """Leave the sandbox after a cancel, once what still ran there has been stopped."""
        while self._shells.stopping:
            await anyio.sleep(_POLL_SECONDS)
        with contextlib.suppress(ToolError):
            taken = await box.leave()
            box.keep_quarantined(taken)

    async def _run(
        self,
        command: str,
        cwd: Path | None,
        seconds: float,
        on_output: Callable[[str], Awaitable[None]],
        place: Place,
        start: Path | None,
        sink: OutputSink,
        enough: int | None,
        *,
        needs: bool,
    ) -> CommandResult:
        started = time.monotonic()
        here = self._shells.cwd = self._shells.cwd or start or self._start or Path.cwd()
        where = cwd or here
        if not where.is_dir():
            if cwd is not None:
                raise ToolError("NOT_FOUND", f"the directory {where} does not exist")
            where = self._shells.cwd = start or self._start or Path.home()
        if not self._options.persistent:
            await self._close_shells(lambda live: True)
        if self._maker.lost_folder():
            if self._shells.by_place:
                self._shells.lost = "the shell's own folder was gone, so the shell was replaced"
            await self._close_shells(lambda live: True)
        mark = os.urandom(16).hex()
        live = await self._shell_or_once(place, where, command, mark, needs=needs)
        if needs and (live.bash.in_force is None or not live.bash.in_force.holds):
            raise ToolError("UNAVAILABLE", "the shell has no working sandbox", "ask the user: outside_sandbox")
        lost, self._shells.lost = self._shells.lost, None
        self._shells.last_used = time.monotonic()
        self._shells.marks.add(mark)
        before = set() if live.once else live.bash.processes()
        was_used, live.used = live.used, True
        failed: ToolError | None = None
        ended = Ended(None, False, True, ())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(show_progress, sink, on_output)
                if enough is not None:
                    tasks.start_soon(stop_after, live.bash, sink, enough)
                try:
                    if live.once:
                        ended = await live.bash.run_once(seconds, sink.feed)
                    else:
                        ended = await live.bash.run(
                            self._prefixed(command),
                            self._shells.preparing(live, where, self._environ),
                            seconds,
                            sink.feed,
                            mark,
                        )
                except ToolError as error:
                    failed = error
                tasks.cancel_scope.cancel()
        except BaseException:
            # The turn is being cancelled: its answer must not wait for a grace period. The next command must, even one
            # that comes before the stopping has begun.
            self._shells.stopping.add(live.bash)
            self._background.start_soon(self._clean_up, place, live, before, mark)
            sink.finish(hidden=f"{live.bash.script}: ")
            raise
        self._shells.last_used = time.monotonic()
        if failed is not None:
            sink.finish()
            raise failed
        left = ended.left_running
        after = where
        if ended.gone:
            self._shells.by_place.pop(place, None)
            live.bash.close()
            if not ended.timed_out:
                left = tuple(await anyio.to_thread.run_sync(find_tree, None, mark))
        else:
            after = live.bash.cwd() or where
            if place == "session" and self._options.persistent:
                self._shells.carry(live.bash)
        if ended.timed_out:
            await end_tree(partial(find_tree, None, mark), 0.0) if ended.gone else None
        if not left:
            self._shells.marks.discard(mark)
        moved = cwd is None and after != here and self._options.persistent and place != "own"
        if moved:
            self._shells.cwd = after
        duration = round((time.monotonic() - started) * 1000)
        return CommandResult(
            ended.exit_code,
            sink.finish(hidden=f"{live.bash.script}: "),
            ended.timed_out and not live.bash.hurried,
            duration,
            left,
            after if cwd is None else where,
            moved,
            ended.gone and was_used,
            live.bash.in_force,
            lost,
            ended.timed_out and live.bash.hurried,
            self._maker.alone if live.once else None,
        )

    def _prefixed(self, command: str) -> str:
        return f"{self._options.prefix} {command}" if self._options.prefix else command

    # -- keeping -----------------------------------------------------------------------------------------

    @property
    def last_used(self) -> float:
        """When a command last ran, by the monotonic clock."""
        return self._shells.last_used

    async def find_detached(self) -> list[str]:
        """Take over the jobs that an earlier North left running. Returns a line about each."""
        if self._kept is None:
            return []
        return await self.jobs.adopt(await anyio.to_thread.run_sync(find_detached, self._kept))

    def is_open(self) -> bool:
        """Return whether any shell of this session lives."""
        return any(live.bash.alive for live in self._shells.by_place.values())

    def is_busy(self) -> bool:
        """Return whether a command runs, in the foreground or in the background."""
        return any(lock.locked() for lock in self._locks.values()) or any(
            live.bash.alive and live.bash.processes() for live in self._shells.by_place.values()
        )

    async def close_idle(self, why: str) -> None:
        """Close the shells unless they are busy; the next result says `why` what was in them is gone."""
        if self.is_busy():
            return
        if any(
            live.used for place, live in self._shells.by_place.items() if place in ("session", "contained", "outside")
        ):
            self._shells.lost = why
        await self._close_shells(lambda live: True)

    async def begin_anew(self, why: str) -> bool:
        """Forget what earlier commands left, here or in another process: close the shells and go back to the first
        directory; the next result says `why`. Returns False, and does nothing, while a command runs."""
        if self.is_busy():
            return False
        await self._close_shells(lambda live: True)
        self._shells.lost, self._shells.cwd, self._shells.carried = why, None, {}
        return True

    async def _close_shells(self, which: Callable[[LiveShell], bool]) -> None:
        gone = [
            place
            for place, live in self._shells.by_place.items()
            if which(live) and live.bash not in self._shells.stopping
        ]
        for live in [self._shells.by_place.pop(place) for place in gone]:
            await end_shell(live.bash)

    def take_over(self, other: Runner) -> None:
        """Take over the shells, the directory and the jobs of a session that ends and runs no command; its shells get
        this session's own variables. Shells that were made with other settings stay with it."""
        if not isinstance(other, CommandRunner) or (self._options, self.sandboxed) != (
            other._options,
            other.sandboxed,
        ):
            return
        self._shells = other._shells
        other._shells = replace(self._shells, by_place={}, marks=set(), of_jobs=[], detached=[])
        self._maker.take_over(other._maker)
        for live in self._shells.by_place.values():
            live.renamed = {name: value for name, value in self._environ.items() if other._environ.get(name) != value}
        self.jobs.take_over(other.jobs)
        if self._shells.by_place:
            self._shell_pool.register(self)

    async def end_all(self, grace: float) -> None:
        """End the shells, the jobs and whatever earlier commands left running. The runner can be used again
        afterwards."""
        await self.jobs.end_all(grace)
        marks, self._shells.marks = self._shells.marks, set()
        shells, self._shells.by_place = [live.bash for live in self._shells.by_place.values()], {}
        await end_shells(shells, marks, grace)
        if self.containment is not None:
            with contextlib.suppress(ToolError):
                await self.containment.last()
        await self._maker.remove_folder()

    # -- inside -----------------------------------------------------------------------------------------

    async def _shell_or_once(self, place: Place, cwd: Path, command: str, mark: str, *, needs: bool) -> LiveShell:
        """Return the place's shell or, where no shell can be kept, one for this command only. Raises ToolError."""
        contained = self.is_contained(place)
        if self._maker.can_keep:
            with contextlib.suppress(StartFailed):
                return await self._shell(place, cwd, needs=needs)
        prefixed = self._prefixed(command)
        made = await self._maker.single(place, cwd, prefixed, mark, contained=contained, needs=needs)
        self._shells.by_place[place] = live = LiveShell(made, once=True)
        return live

    async def _shell(self, place: Place, cwd: Path, *, needs: bool) -> LiveShell:
        live = self._shells.by_place.get(place)
        while live is not None and live.bash in self._shells.stopping:
            await anyio.sleep(0.01)
            live = self._shells.by_place.get(place)
        if live is not None and live.bash.alive:
            return live
        if live is not None:
            self._shells.by_place.pop(place).bash.close()
            if live.used and place not in ("clean", "bare"):
                self._shells.lost = live.bash.ended_because or self._shells.lost
        await self._shell_pool.admit(self)
        snapshot = self._options.snapshot and place == "session"
        contained = self.is_contained(place)
        new = await self._maker.make(place, cwd, contained=contained, needs=needs, snapshot=snapshot)
        self._shells.by_place[place] = live = LiveShell(new)
        return live

    async def _job(self, job: JobSpec) -> JobProcess:
        """Start a job in its own shell, which is like the shell of its place. Raises ToolError."""
        needs, place = job.place in UNASKED, self._place(job.place)
        prefixed = replace(job, place=place, command=self._prefixed(job.command))
        contained = self.is_contained(place)
        return await self._job_starter.start(prefixed, self._shells, contained=contained, needs=needs)

    def _end_contained_detached(self) -> None:
        for process in self._shells.detached:
            process.end_now()

    async def _clean_up(self, place: Place, live: LiveShell, before: set[int], mark: str) -> None:
        try:
            with anyio.CancelScope(shield=True):
                code = await live.bash.stop(before)
                if code is None:
                    if self._shells.by_place.get(place) is live:
                        del self._shells.by_place[place]
                    if place not in ("clean", "bare") and not live.once:
                        self._shells.lost = "the shell did not answer after the cancel and was replaced"
                    live.bash.close()
                    await end_tree(partial(find_tree, None, mark), 0.0)
                elif place == "session":
                    self._shells.carry(live.bash)
                self._shells.marks.discard(mark)
        finally:
            self._shells.stopping.discard(live.bash)
