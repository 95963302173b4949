"""The shells of one session: what one command changes, the next one finds; nothing is left behind by a cancel.

Three shells at most, each started when it is first needed: `session` for what the user approves, `clean` for what a
rule allows (nothing else ever runs there, so that no earlier command can have changed what a word means), `outside` for
what the user lets run without the sandbox. Directory and harmless variables are carried from one to the other.
"""

import contextlib
import os
import shlex
import shutil
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import anyio.abc
import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.shell.bash import Bash, Ended
from north_lsp.shell.environment import UNATTENDED, changes_meaning
from north_lsp.shell.output import Captured, OutputSink, Spill
from north_lsp.shell.report import ShellReport, changed_exports, meaning_changed, read_exports
from north_lsp.shell.sandbox import InForce, Sandbox, support
from north_lsp.shell.tree import end_now, end_tree, find_tree

Place = Literal["session", "clean", "outside"]

_UPDATE_SECONDS = 0.25
_PROGRESS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Ran:
    """The outcome of a command. `exit_code` is negative for a signal and None if it is not known; `left_running` are
    processes it put aside; `shell_ended` says that what earlier commands left in the shell is gone; `sandbox` is what
    held the command, None outside."""

    exit_code: int | None
    output: Captured
    timed_out: bool
    duration_ms: int
    left_running: tuple[int, ...]
    cwd: Path
    moved: bool = False
    shell_ended: bool = False
    sandbox: InForce | None = None


@dataclass(frozen=True, slots=True)
class ShellState:
    """What a command would find: the directory, and what earlier commands did that may change what a word means."""

    cwd: Path
    changes: tuple[str, ...] = ()


@dataclass
class _Live:
    """A shell with what was last put into it. `exports` are the variables that North carried over; `used` says that an
    earlier command may have left something in it."""

    bash: Bash
    used: bool = False
    exports: dict[str, str | None] = field(default_factory=dict)


class CommandRunner:
    """Runs commands for one session and ends what they started.

    `background` owns the work of ending a process tree, so that a cancelled turn need not wait for it. Without
    `sandbox` all commands run with the user's own rights.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        background: anyio.abc.TaskGroup,
        start: Path | None = None,
        sandbox: Sandbox | None = None,
        withheld: frozenset[str] = frozenset(),
    ) -> None:
        self._environ = dict(environ)
        self._background = background
        self._sandbox = sandbox
        self._start = start
        self._withheld = withheld
        self._cwd: Path | None = None
        self._carried: dict[str, str | None] = {}
        self._live: dict[Place, _Live] = {}
        self._locks: dict[Place, anyio.Lock] = {"session": anyio.Lock(), "clean": anyio.Lock(), "outside": anyio.Lock()}
        self._folder: Path | None = None
        self._marks: set[str] = set()
        self._stopping: set[Bash] = set()

    # -- what is known -----------------------------------------------------------------------------------------

    @property
    def sandboxed(self) -> bool:
        """Whether commands are to run in a sandbox. Whether the machine has one is another question."""
        return self._sandbox is not None

    @property
    def environ(self) -> Mapping[str, str]:
        """What a shell starts with."""
        return self._environ

    @property
    def added(self) -> Mapping[str, str]:
        """What a program that somebody else starts is given on top of its own environment."""
        return UNATTENDED

    def argv_without_shell(self, command: str) -> list[str]:
        """A program that runs a command in a bash of its own, started by somebody else: without what is withheld."""
        unset = [part for name in sorted(self._withheld) for part in ("-u", name)]
        return ["env", *unset, "bash", "--noprofile", "--norc", "-c", command]

    def state(self, fallback: Path) -> ShellState:
        """As of now; `fallback` is the directory before the first command."""
        changes: list[str] = []
        places: tuple[Place, ...] = ("session", "outside")
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

    # -- running -----------------------------------------------------------------------------------------

    async def run(
        self,
        command: str,
        cwd: Path | None,
        seconds: float,
        on_output: Callable[[str], Awaitable[None]],
        place: Place = "session",
        start: Path | None = None,
        spill: Spill | None = None,
    ) -> Ran:
        """Run to the end, the time limit or cancellation. With `cwd` the command runs there and the session's own
        directory stays; without it, in the session's directory, which is `start` at first. `spill` gets an output
        that is too long to be held.

        Raises ToolError when the shell cannot be started, or the sandbox that it is to run in.
        """
        if place == "outside" and self._sandbox is None:
            place = "session"
        async with self._locks[place]:
            return await self._run(command, cwd, seconds, on_output, place, start, spill)

    async def _run(
        self,
        command: str,
        cwd: Path | None,
        seconds: float,
        on_output: Callable[[str], Awaitable[None]],
        place: Place,
        start: Path | None,
        spill: Spill | None,
    ) -> Ran:
        started = time.monotonic()
        here = self._cwd = self._cwd or start or self._start or Path.cwd()
        where = cwd or here
        if not where.is_dir():
            if cwd is not None:
                raise ToolError("NOT_FOUND", f"the directory {where} does not exist")
            where = self._cwd = start or self._start or Path.home()
        live = await self._shell(place, where)
        mark = uuid.uuid4().hex
        self._marks.add(mark)
        before = live.bash.processes()
        was_used, live.used = live.used, True
        sink = OutputSink(spill)
        failed: ToolError | None = None
        ended = Ended(None, False, True, ())
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._show_progress, sink, on_output)
                try:
                    ended = await live.bash.run(command, self._setup(live, where), seconds, sink.feed, mark)
                except ToolError as error:
                    failed = error
                tasks.cancel_scope.cancel()
        except BaseException:
            # The turn is being cancelled: its answer must not wait for a grace period.
            self._background.start_soon(self._clean_up, place, live, before, mark)
            raise
        if failed is not None:
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
            if place == "session":
                self._carry(live.bash)
        if ended.timed_out:
            await end_tree(partial(find_tree, None, mark), 0.0) if ended.gone else None
        if not left:
            self._marks.discard(mark)
        moved = cwd is None and after != here
        if moved:
            self._cwd = after
        duration = round((time.monotonic() - started) * 1000)
        return Ran(
            ended.exit_code,
            sink.finish(hidden=f"{live.bash.script}: "),
            ended.timed_out,
            duration,
            left,
            after if cwd is None else where,
            moved,
            ended.gone and was_used,
            live.bash.in_force,
        )

    async def end_all(self, grace: float) -> None:
        """End the shells and whatever earlier commands left running. The runner can be used again afterwards."""
        marks, self._marks = self._marks, set()
        shells, self._live = [live.bash for live in self._live.values()], {}
        for bash in shells:
            await anyio.to_thread.run_sync(_ask_to_end, bash)
        async with anyio.create_task_group() as tasks:
            for mark in marks:
                tasks.start_soon(end_tree, partial(find_tree, None, mark), grace)
        for bash in shells:
            await anyio.to_thread.run_sync(
                end_now, lambda bash=bash: [*bash.processes(), bash.pid] if bash.alive else []
            )
            bash.close()
        if self._folder is not None:
            folder, self._folder = self._folder, None
            await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))

    # -- inside -----------------------------------------------------------------------------------------

    async def _shell(self, place: Place, cwd: Path) -> _Live:
        live = self._live.get(place)
        while live is not None and live.bash in self._stopping:
            await anyio.sleep(0.01)
            live = self._live.get(place)
        if live is not None and live.bash.alive:
            return live
        if live is not None:
            self._live.pop(place).bash.close()
        bash = shutil.which("bash", path=self._environ.get("PATH"))
        if bash is None:
            raise ToolError("UNAVAILABLE", "bash was not found on PATH", "install bash")
        described = None
        if self._folder is None:
            self._folder = await anyio.to_thread.run_sync(partial(_private_folder))
        folder = self._folder / place
        folder.mkdir(mode=0o700, exist_ok=True)
        if self._sandbox is not None and place != "outside":
            if not (has := support()).available:
                raise ToolError(
                    "UNAVAILABLE",
                    f"the sandbox that the settings ask for cannot be had: {has.reason}",
                    "ask the user to run this outside the sandbox (`outside_sandbox: true`)",
                )
            described = await anyio.to_thread.run_sync(self._sandbox.described, folder)
        new = await Bash.start(bash, self._environ, cwd, folder, described, self._background)
        self._live[place] = live = _Live(new)
        return live

    def _setup(self, live: _Live, where: Path) -> str:
        """Lines that bring a shell to where the command is to run."""
        lines = []
        if live.bash.cwd() != where:
            lines.append(f"\\builtin cd -- {shlex.quote(str(where))} 2>/dev/null")
        if live is not self._live.get("session"):
            for name in live.exports.keys() | self._carried.keys():
                if live.exports.get(name, "") == self._carried.get(name, "") and name in live.exports:
                    continue
                value = self._carried.get(name, self._environ.get(name))
                lines.append(
                    f"\\builtin unset {name}" if value is None else f"\\builtin export {name}={shlex.quote(value)}"
                )
            live.exports = dict(self._carried)
        return "; ".join(lines) or "\\builtin :"

    def _carry(self, bash: Bash) -> None:
        """Take over the variables that a command exported, as far as they cannot change what a word means."""
        first, now = bash.first, bash.report
        if first is None or now is None or first.exports == now.exports:
            self._carried = {}
            return
        changed = _changed(first, now)
        self._carried = {name: value for name, value in changed.items() if not changes_meaning(name)}

    async def _clean_up(self, place: Place, live: _Live, before: set[int], mark: str) -> None:
        self._stopping.add(live.bash)
        try:
            with anyio.CancelScope(shield=True):
                code = await live.bash.stop(before)
                if code is None:
                    if self._live.get(place) is live:
                        del self._live[place]
                    live.bash.close()
                    await end_tree(partial(find_tree, None, mark), 0.0)
                elif place == "session":
                    self._carry(live.bash)
                self._marks.discard(mark)
        finally:
            self._stopping.discard(live.bash)

    async def _show_progress(self, sink: OutputSink, on_output: Callable[[str], Awaitable[None]]) -> None:
        """Tell what there is so far: new output soon, and that time passes."""
        shown, last = 0, time.monotonic()
        while True:
            await anyio.sleep(_UPDATE_SECONDS)
            now = time.monotonic()
            if sink.total_bytes != shown or now - last >= _PROGRESS_SECONDS:
                shown, last = sink.total_bytes, now
                await on_output(sink.live())


def _changed(first: ShellReport, now: ShellReport) -> dict[str, str | None]:
    return changed_exports(read_exports(first.exports), read_exports(now.exports))


def _private_folder() -> Path:
    return Path(os.path.realpath(tempfile.mkdtemp(prefix="north-shell-")))


def _ask_to_end(bash: Bash) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(bash.pid, 1)
