"""The shells of one session: each command finds what earlier ones changed, and a cancel leaves nothing running.

Each shell is started when it is first needed: `session` for what the user approves, `contained` for what runs without
asking, `clean` for what a rule allows (nothing else ever runs there, so no earlier command can have changed what a word
means), both always in the sandbox, `bare` instead of `clean` where the sandbox does not hold, `outside` for what the
user lets run without the sandbox, `own` for the user's own commands while a turn runs. All share one directory;
harmless variables are carried from `session` to the others.
"""

import contextlib
import os
import shlex
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import get_args

import anyio
import anyio.to_thread

from north_lsp.background import Background
from north_lsp.errors import ToolError
from north_lsp.shell.bash import Bash, Ended
from north_lsp.shell.containment import Containment
from north_lsp.shell.detached import DetachedProcess, find_detached, start_detached
from north_lsp.shell.environment import UNATTENDED, changes_meaning, looks_like_credential
from north_lsp.shell.factory import ShellMaker
from north_lsp.shell.job_processes import JobProcess, JobSpec, start_job
from north_lsp.shell.jobs import Jobs
from north_lsp.shell.options import UNASKED, Place, ShellOptions
from north_lsp.shell.output import Captured, OutputSink, Spill
from north_lsp.shell.pool import ShellPool
from north_lsp.shell.processes import children_of, end_now, is_running, started_at
from north_lsp.shell.report import changed_exports, exporting, meaning_changed, read_exports
from north_lsp.shell.sandbox import ActiveRestrictions, Sandbox, support
from north_lsp.shell.spawning import StartFailed
from north_lsp.shell.tree import end_tree, find_tree
from north_lsp.shell.watch import QuarantinedFiles

_UPDATE_SECONDS = 0.25
_PROGRESS_SECONDS = 1.0
_ENOUGH_SECONDS = 2.0
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The outcome of a command. `exit_code` is negative for a signal and None if it is unknown; `left_running` are
    processes that it left in the background; `shell_ended` says that what earlier commands left in the shell is gone;
    `sandbox` are the restrictions that the command ran under, None outside; `lost` says why the shell was a new one, if
    earlier commands had left something in the old one; `enough` says that it was stopped because it had printed the
    lines that were wanted; `alone` says why it had its own bash, of which nothing stays; `taken` is what appeared in
    the sandbox and was quarantined, `closed` what could not be read there because the user closes it."""

    exit_code: int | None
    output: Captured
    timed_out: bool
    duration_ms: int
    left_running: tuple[int, ...]
    cwd: Path
    moved: bool = False
    shell_ended: bool = False
    sandbox: ActiveRestrictions | None = None
    lost: str | None = None
    enough: bool = False
    alone: str | None = None
    taken: tuple[QuarantinedFiles, ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShellState:
    """What a command would find: the directory, and what earlier commands did that may change what a word means."""

    cwd: Path
    changes: tuple[str, ...] = ()


@dataclass
class _Live:
    """A live shell and what North last set in it. `exports` are the variables that North carried over; `used` says that
    an earlier command may have left something in it, `once` that it ends with its one command; `renamed` are the
    variables of the session that took it over, which are still to be set."""

    bash: Bash
    used: bool = False
    once: bool = False
    exports: dict[str, str | None] = field(default_factory=dict)
    renamed: dict[str, str | None] = field(default_factory=dict)


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
        self._lost: str | None = None
        self._maker = ShellMaker(environ, background, sandbox, self._options)
        self._last_used = 0.0
        self.jobs = Jobs(self._job, background)
        self._cwd: Path | None = None
        self._carried: dict[str, str | None] = {}
        self._live: dict[Place, _Live] = {}
        self._locks: dict[Place, anyio.Lock] = {place: anyio.Lock() for place in get_args(Place)}
        self._marks: set[str] = set()
        self._stopping: set[Bash] = set()
        self._job_shells: list[Bash] = []
        self._kept_inside: list[DetachedProcess] = []
        self.containment = (
            None
            if sandbox is None
            else Containment(sandbox, background, self._held_shells, self._is_busy_inside, self._end_contained_detached)
        )

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
        self._job_shells = [bash for bash in self._job_shells if bash.alive]
        return [*(live.bash for place, live in self._live.items() if self.is_contained(place)), *self._job_shells]

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
            live = self._live.get(place)
            if live is None or not live.bash.alive:
                continue
            first, now = live.bash.first, live.bash.report
            if first is not None and now is not None:
                changes += meaning_changed(first, now)
            if live.bash.strange_descriptors():
                changes.append("left descriptors open in the shell")
        return ShellState(self._cwd or self._start or fallback, tuple(dict.fromkeys(changes)))

    def _is_busy_inside(self) -> bool:
        """Return whether anything runs in the sandbox."""
        held = [live.bash for place, live in self._live.items() if self.is_contained(place)]
        self._kept_inside = [process for process in self._kept_inside if process.detached_job.is_alive()]
        return (
            bool(self._kept_inside)
            or any(bash.alive for bash in self._job_shells)
            or any(bash.alive and bash.processes() for bash in held)
        )

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
        spill: Callable[[], Spill] | None = None,
        enough: int | None = None,
    ) -> CommandResult:
        """Run a command until its end, the time limit or cancellation. With `cwd` the command runs there and the
        session's directory stays; otherwise it runs in the session's directory, which is `start` at first. The whole of
        an output that is too long to keep goes to `spill`. A command that still runs long after it has printed `enough`
        lines is stopped.

        Raises ToolError if the shell, or the sandbox that it must run in, cannot be started.
        """
        needs, place = place in UNASKED, self._place(place)
        box = self.containment
        async with self._locks[place]:
            run = partial(
                self._run, command, cwd, seconds, on_output, place, start, OutputSink(spill), enough, needs=needs
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
        while self._stopping:
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
        here = self._cwd = self._cwd or start or self._start or Path.cwd()
        where = cwd or here
        if not where.is_dir():
            if cwd is not None:
                raise ToolError("NOT_FOUND", f"the directory {where} does not exist")
            where = self._cwd = start or self._start or Path.home()
        if not self._options.persistent:
            await self._close_shells(lambda live: True)
        if self._maker.lost_folder():
            if self._live:
                self._lost = "the shell's own folder was gone, so the shell was replaced"
            await self._close_shells(lambda live: True)
        mark = uuid.uuid4().hex
        live = await self._shell_or_once(place, where, command, mark, needs=needs)
        if needs and (live.bash.in_force is None or not live.bash.in_force.namespaces):
            raise ToolError("UNAVAILABLE", "the shell has no working sandbox", "ask the user: outside_sandbox")
        lost, self._lost = self._lost, None
        self._last_used = time.monotonic()
        self._marks.add(mark)
        before = set() if live.once else live.bash.processes()
        was_used, live.used = live.used, True
        failed: ToolError | None = None
        ended = Ended(None, False, True, ())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._show_progress, sink, on_output)
                if enough is not None:
                    tasks.start_soon(_stop_after, live.bash, sink, enough)
                try:
                    if live.once:
                        ended = await live.bash.run_once(seconds, sink.feed)
                    else:
                        ended = await live.bash.run(
                            self._prefixed(command), self._setup(live, where), seconds, sink.feed, mark
                        )
                except ToolError as error:
                    failed = error
                tasks.cancel_scope.cancel()
        except BaseException:
            # The turn is being cancelled: its answer must not wait for a grace period. The next command must, even one
            # that comes before the stopping has begun.
            self._stopping.add(live.bash)
            self._background.start_soon(self._clean_up, place, live, before, mark)
            sink.finish()
            raise
        self._last_used = time.monotonic()
        if failed is not None:
            sink.finish()
            raise failed
        left = ended.left_running
        after = where
        if ended.gone:
            self._live.pop(place, None)
            live.bash.close()
            if not ended.timed_out:
                left = tuple(await anyio.to_thread.run_sync(find_tree, None, mark))
        else:
            after = live.bash.cwd() or where
            if place == "session" and self._options.persistent:
                self._carry(live.bash)
        if ended.timed_out:
            await end_tree(partial(find_tree, None, mark), 0.0) if ended.gone else None
        if not left:
            self._marks.discard(mark)
        moved = cwd is None and after != here and self._options.persistent and place != "own"
        if moved:
            self._cwd = after
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
        return self._last_used

    async def find_detached(self) -> list[str]:
        """Take over the jobs that an earlier North left running. Returns a line about each."""
        if self._kept is None:
            return []
        return await self.jobs.adopt(await anyio.to_thread.run_sync(find_detached, self._kept))

    def is_open(self) -> bool:
        """Return whether any shell of this session lives."""
        return any(live.bash.alive for live in self._live.values())

    def is_busy(self) -> bool:
        """Return whether a command runs, in the foreground or in the background."""
        return any(lock.locked() for lock in self._locks.values()) or any(
            live.bash.alive and live.bash.processes() for live in self._live.values()
        )

    async def close_idle(self, why: str) -> None:
        """Close the shells unless they are busy; the next result says `why` what was in them is gone."""
        if self.is_busy():
            return
        if any(live.used for place, live in self._live.items() if place in ("session", "contained", "outside")):
            self._lost = why
        await self._close_shells(lambda live: True)

    async def begin_anew(self, why: str) -> bool:
        """Forget what earlier commands left, here or in another process: close the shells and go back to the first
        directory; the next result says `why`. Returns False, and does nothing, while a command runs."""
        if self.is_busy():
            return False
        await self._close_shells(lambda live: True)
        self._lost, self._cwd, self._carried = why, None, {}
        return True

    async def _close_shells(self, which: "Callable[[_Live], bool]") -> None:
        gone = [place for place, live in self._live.items() if which(live) and live.bash not in self._stopping]
        for live in [self._live.pop(place) for place in gone]:
            await _end(live.bash)

    def take_over(self, other: "CommandRunner") -> None:
        """Take over the shells, the directory and the jobs of a session that ends and runs no command; its shells get
        this session's own variables. Shells that were made with other settings stay with it."""
        if (self._options, self.sandboxed) != (other._options, other.sandboxed):
            return
        for name in (
            "_live",
            "_marks",
            "_cwd",
            "_carried",
            "_lost",
            "_last_used",
            "_stopping",
            "_job_shells",
            "_kept_inside",
        ):
            setattr(self, name, getattr(other, name))
        other._live, other._marks, other._job_shells, other._kept_inside = {}, set(), [], []
        self._maker.take_over(other._maker)
        for live in self._live.values():
            live.renamed = {name: value for name, value in self._environ.items() if other._environ.get(name) != value}
        self.jobs.take_over(other.jobs)
        if self._live:
            self._shell_pool.register(self)

    async def end_all(self, grace: float) -> None:
        """End the shells, the jobs and whatever earlier commands left running. The runner can be used again
        afterwards."""
        await self.jobs.end_all(grace)
        marks, self._marks = self._marks, set()
        shells, self._live = [live.bash for live in self._live.values()], {}
        # While a shell lives, orphaned processes are found below it, whatever their environment.
        below = await anyio.to_thread.run_sync(_below, shells)
        for bash in shells:
            await anyio.to_thread.run_sync(_ask_to_end, bash)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(end_tree, partial(_still_there, below), grace)
            for mark in marks:
                tasks.start_soon(end_tree, partial(find_tree, None, mark), grace)
        async with anyio.create_task_group() as tasks:
            for bash in shells:
                tasks.start_soon(_end, bash)
        if self.containment is not None:
            with contextlib.suppress(ToolError):
                await self.containment.last()
        await self._maker.remove_folder()

    # -- inside -----------------------------------------------------------------------------------------

    async def _shell_or_once(self, place: Place, cwd: Path, command: str, mark: str, *, needs: bool) -> _Live:
        """Return the place's shell or, where no shell can be kept, one for this command only. Raises ToolError."""
        contained = self.is_contained(place)
        if self._maker.can_keep:
            with contextlib.suppress(StartFailed):
                return await self._shell(place, cwd, needs=needs)
        prefixed = self._prefixed(command)
        made = await self._maker.single(place, cwd, prefixed, mark, contained=contained, needs=needs)
        self._live[place] = live = _Live(made, once=True)
        return live

    async def _shell(self, place: Place, cwd: Path, *, needs: bool) -> _Live:
        live = self._live.get(place)
        while live is not None and live.bash in self._stopping:
            await anyio.sleep(0.01)
            live = self._live.get(place)
        if live is not None and live.bash.alive:
            return live
        if live is not None:
            self._live.pop(place).bash.close()
        await self._shell_pool.admit(self)
        snapshot = self._options.snapshot and place == "session"
        contained = self.is_contained(place)
        new = await self._maker.make(place, cwd, contained=contained, needs=needs, snapshot=snapshot)
        self._live[place] = live = _Live(new)
        return live

    async def _job(self, job: JobSpec) -> JobProcess:
        """Start a job in its own shell, which is like the shell of its place. Raises ToolError."""
        needs, job = job.place in UNASKED, replace(job, place=self._place(job.place))
        changes: dict[str, str | None] = dict(self._carried)
        live = self._live.get(job.place)
        if job.place not in ("clean", "bare") and live is not None and live.bash.first is not None:
            now = live.bash.report or live.bash.first
            changes = changed_exports(*(read_exports(one.exports) for one in (live.bash.first, now)))
        contained = self.is_contained(job.place)
        prefixed = replace(job, command=self._prefixed(job.command))
        if job.output is not None:
            if self._kept is None:
                raise ToolError("UNAVAILABLE", "nothing can go on after North here")
            return await self._start_detached(self._kept, prefixed, changes, job.output, contained=contained)
        if not contained or self.containment is None:
            return await start_job(self._maker, prefixed, changes, contained=contained)
        await self.containment.enter()
        try:
            process = await start_job(self._maker, prefixed, changes, contained=True, needs=needs)
            self._job_shells.append(process.bash)
        finally:
            with anyio.CancelScope(shield=True):
                self.containment.keep_quarantined(await self.containment.leave())
        self.containment.patrol()
        return process

    async def _start_detached(
        self, records: Path, job: JobSpec, changes: dict[str, str | None], output: Path, *, contained: bool
    ) -> DetachedProcess:
        if not contained or self.containment is None:
            return await start_detached(self._maker, records, job, changes, output, contained=contained)
        await self.containment.enter()
        try:
            process = await start_detached(self._maker, records, job, changes, output, contained=True)
            self._kept_inside.append(process)
        finally:
            with anyio.CancelScope(shield=True):
                self.containment.keep_quarantined(await self.containment.leave())
        self.containment.patrol()
        return process

    def _end_contained_detached(self) -> None:
        for process in self._kept_inside:
            process.end_now()

    def _setup(self, live: _Live, where: Path) -> str:
        """Return lines that prepare a shell for a command: the directory and the variables."""
        lines = []
        if live in (self._live.get("clean"), self._live.get("bare")):
            # Rules know where a link leads: `..` after a link must mean the same here. This lasts for one command.
            lines.append("\\builtin set -P")
        if live.bash.cwd() != where:
            lines.append(f"\\builtin cd -- {shlex.quote(str(where))} 2>/dev/null")
        lines += exporting(live.renamed, {})
        live.renamed = {}
        if live is not self._live.get("session"):
            names = live.exports.keys() | self._carried.keys()
            wanted = {name: self._carried.get(name, self._environ.get(name)) for name in names}
            lines += exporting(wanted, live.exports)
            live.exports = dict(self._carried)
        return "; ".join(lines) or "\\builtin :"

    def _carry(self, bash: Bash) -> None:
        """Carry over the variables that a command exported, except those that can change what a word means."""
        first, now = bash.first, bash.report
        if first is None or now is None or first.exports == now.exports:
            self._carried = {}
            return
        changed = changed_exports(read_exports(first.exports), read_exports(now.exports))
        self._carried = {name: value for name, value in changed.items() if _may_be_carried(name, value)}

    async def _clean_up(self, place: Place, live: _Live, before: set[int], mark: str) -> None:
        try:
            with anyio.CancelScope(shield=True):
                code = await live.bash.stop(before)
                if code is None:
                    if self._live.get(place) is live:
                        del self._live[place]
                    if place not in ("clean", "bare") and not live.once:
                        self._lost = "the shell did not answer after the cancel and was replaced"
                    live.bash.close()
                    await end_tree(partial(find_tree, None, mark), 0.0)
                elif place == "session":
                    self._carry(live.bash)
                self._marks.discard(mark)
        finally:
            self._stopping.discard(live.bash)

    async def _show_progress(self, sink: OutputSink, on_output: Callable[[str], Awaitable[None]]) -> None:
        """Report progress: new output soon, and otherwise from time to time that the command still runs."""
        shown, last = 0, time.monotonic()
        while True:
            await anyio.sleep(_UPDATE_SECONDS)
            now = time.monotonic()
            if sink.total_bytes != shown or now - last >= _PROGRESS_SECONDS:
                shown, last = sink.total_bytes, now
                await on_output(sink.live())


def _may_be_carried(name: str, value: str | None) -> bool:
    # A credential is short, and searching a long value takes long.
    return not changes_meaning(name) and not looks_like_credential(name, (value or "")[:500])


async def _stop_after(bash: Bash, sink: OutputSink, lines: int) -> None:
    """Stop a command that `| head` would have ended, after some time for those that end soon anyway."""
    while sink.total_lines < lines:
        await anyio.sleep(_UPDATE_SECONDS)
    await anyio.sleep(_ENOUGH_SECONDS)
    bash.hurry()


async def _end(bash: Bash) -> None:
    await anyio.to_thread.run_sync(end_now, lambda: [*bash.processes(), bash.pid] if bash.alive else [])
    bash.close()


def _below(shells: Sequence[Bash]) -> dict[int, str]:
    """Return the processes below the shells, each with its start time."""
    return {pid: started_at(pid) for bash in shells if bash.alive for pid in children_of(bash.pid)}


def _still_there(processes: Mapping[int, str]) -> list[int]:
    return [pid for pid, since in processes.items() if since and started_at(pid) == since and is_running(pid)]


def _ask_to_end(bash: Bash) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(bash.pid, 1)
