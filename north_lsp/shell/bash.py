"""One live bash: a terminal for what commands print, a pipe for what bash is told, a pipe for what bash reports.

The terminal carries output only. Bash reads North's lines from a pipe that commands never see (their standard input is
`/dev/null`), and reports over a third descriptor that is closed while a command runs, so that nothing a command prints
can be mistaken for its end. Two marks with an unguessable nonce only tell which part of the terminal's stream belongs
to the command.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.background import Background
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.channels import Channels
from north_lsp.shell.guardian import GUARDIAN
from north_lsp.shell.launcher import CONTROL_FD, TTY_FD
from north_lsp.shell.marker_scanner import MarkerScanner
from north_lsp.shell.processes import PROC, catches, children_of, end_now, is_asleep, is_halted, send
from north_lsp.shell.protocol import beginning, calling, reporting, single
from north_lsp.shell.report import COMMANDS, ShellReport, read_report
from north_lsp.shell.sandbox import ActiveRestrictions
from north_lsp.shell.spawning import SCRIPT, Spawned, StartFailed, spawn, write_script

_START_SECONDS = 5.0
_INTERRUPT_SECONDS = 2.0
_ASK_SECONDS = 0.3
_PROBE_SECONDS = 1.0
_STUCK_TIMES = 2
_SILENT_TIMES = 5
_MARK_SECONDS = 0.25
_POLL_SECONDS = 0.01
_REST_SECONDS = 0.3
_LOST_TIMES = 10
_CHILDLESS_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `exit_code` is None if the shell never reported it; `gone` means that the shell ended,
    too."""

    exit_code: int | None
    timed_out: bool
    gone: bool
    left_running: tuple[int, ...]


class Bash:
    """One shell process. The caller ensures that commands run one after the other."""

    def __init__(self, spawned: Spawned, folder: Path, path: str, *, alone: bool = False) -> None:
        self._process = spawned.process
        self._channels = Channels(
            spawned.master, spawned.stdin, spawned.control, lambda: self._process.poll() is not None
        )
        self._background: Background | None = None
        self.path = path
        self._is_single = alone
        self.folder = folder
        self._inside = folder
        self._closed = False
        self._nonce = ""
        self._code: int | None = None
        self._state: list[str] | None = None
        self._broken = False
        self._limit: anyio.CancelScope | None = None
        self.hurried = False
        self.first: ShellReport | None = None
        self.report: ShellReport | None = None
        self.in_force: ActiveRestrictions | None = None
        self.ended_because = ""  # why North ended it, if that is to be told
        self.described: dict[str, Any] | None = None  # the description that the sandbox was made from

    # -- beginning and end -----------------------------------------------------------------------------------------

    @classmethod
    async def start(
        cls,
        bash: str,
        environ: Mapping[str, str],
        cwd: Path,
        folder: Path,
        sandbox: dict[str, Any] | None,
        background: Background,
        *,
        terminal: bool = True,
        startup: str = "",
    ) -> Bash:
        """Start a shell and wait for its first report. `folder` is the shell's own; without `terminal` commands print
        into a pipe; `startup` is read first. Raises ToolError."""
        argv = [bash, "--noprofile", "--norc", "--noediting", "-i"]
        output = systems.open_terminal if terminal else os.pipe

        def make() -> Bash:
            return cls(spawn(argv, dict(environ), cwd, sandbox, output), folder, bash)

        shell = await cls._made(make, background)
        shell.described = sandbox
        await shell._started(partial(shell._begin, startup))
        return shell

    @classmethod
    async def once(
        cls,
        bash: str,
        environ: Mapping[str, str],
        cwd: Path,
        folder: Path,
        sandbox: dict[str, Any] | None,
        background: Background,
        command: str,
        *,
        stdin: str = "",
        waits: bool = False,
    ) -> Bash:
        """Start a shell that reads one command and ends with it, for machines where no shell can be kept; `run_once`
        waits for it. The command reads from the file `stdin` in the folder, if given; with `waits` the shell ends only
        after what the command left running. Raises ToolError."""
        lines = single(folder, SCRIPT, stdin, sandboxed=sandbox is not None, waits=waits)
        argv = [bash, "--noprofile", "--norc", "-c", lines]
        write_script(folder, command)

        def make() -> Bash:
            return cls(spawn(argv, dict(environ), cwd, sandbox, os.pipe), folder, bash, alone=True)

        shell = await cls._made(make, background, reads=False)
        shell.described = sandbox
        await shell._started(shell._entered)
        return shell

    @classmethod
    async def _made(cls, make: Callable[[], Bash], background: Background, *, reads: bool = True) -> Bash:
        """Make a shell on a thread and start to read its output. Without `reads` that waits for `run_once`, so that no
        output is lost."""
        made: list[Bash] = []
        try:
            await anyio.to_thread.run_sync(lambda: made.append(make()))
        except BaseException:  # cancelled meanwhile: the thread has made the shell anyway
            for shell in made:
                shell.kill()
            raise
        (shell,) = made
        shell._background = background
        if reads:
            background.start_soon(shell._channels.pump)
        return shell

    async def _started(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Run `begin` within the time limit; kill the shell if it fails. Raises StartFailed."""
        try:
            with anyio.fail_after(_START_SECONDS):
                await begin()
        except TimeoutError:
            self.kill()
            raise StartFailed(f"{self.path} did not answer within {_START_SECONDS:g} s") from None
        except BaseException:
            self.kill()
            raise

    async def _entered(self) -> None:
        """Wait until the launcher has set up the process, and note which restrictions hold. Raises StartFailed."""
        first = await self._channels.next_record()
        if first.startswith("X ") or not first.startswith("P "):
            reason = first[2:] or "it ended at once"
            raise StartFailed(f"the shell {self.path} could not be started: {reason}")
        in_force = json.loads(first[2:])
        if in_force is not None:
            self.in_force = ActiveRestrictions(**in_force)
            self._inside = Path(self.in_force.temp)

    async def _begin(self, startup: str) -> None:
        await self._entered()
        self._nonce = os.urandom(16).hex()
        if startup:
            write_script(self.folder, startup)
        await self._channels.tell(beginning(self._nonce, self.script if startup else ""))
        if await self._reported(self._nonce) is None:
            raise StartFailed(f"the shell {self.path} ended as it started")
        self.first = self.report

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return not self._closed and self._process.poll() is None

    def cwd(self) -> Path | None:
        """Return the shell's directory as the kernel knows it, or as the shell last reported it where there is no
        `/proc`; None if that is unknown."""
        try:
            return Path(os.readlink(PROC / f"{self.pid}/cwd"))
        except OSError:
            told = "" if self.report is None else self.report.directory.removesuffix("\n")
            return Path(told) if told.startswith("/") else None

    def strange_descriptors(self) -> bool:
        """Return whether a command left descriptors open in the shell itself (`exec 5>file`)."""
        if not self._has_strange_descriptors():
            return False
        # Bash has reported, but may not have closed its temporary descriptors yet: what is open once it is idle counts.
        until = time.monotonic() + _REST_SECONDS
        while not is_asleep(self.pid) and time.monotonic() < until:
            time.sleep(0.001)
        return self._has_strange_descriptors()

    def _has_strange_descriptors(self) -> bool:
        try:
            names = os.listdir(f"/proc/{self.pid}/fd")
        except OSError:
            return False
        return any(int(name) not in (0, 1, 2, TTY_FD, CONTROL_FD, 255) for name in names)

    def kill(self) -> None:
        """End the shell and everything below it, now. Idempotent, never raises."""
        end_now(lambda: [*children_of(self.pid), self.pid] if self._process.poll() is None else [])
        self.close()

    def close(self) -> None:
        """Close the descriptors and reap the process."""
        if self._closed:
            return
        self._closed = True
        GUARDIAN.release(self.pid)
        self._channels.close()
        try:
            self._process.wait(0.2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # -- a command -----------------------------------------------------------------------------------------

    async def run(
        self,
        command: str,
        setup: str,
        seconds: float,
        feed: Callable[[bytes], None],
        marked: str,
        stdin: str = "/dev/null",
    ) -> Ended:
        """Run a command. `setup` are North's own lines that come first; `marked` is put into the command's environment;
        it reads from the file `stdin`. If the caller is cancelled, the command continues: call `stop`."""
        nonce = self._nonce = os.urandom(16).hex()
        cutter = MarkerScanner(nonce)
        before = set(children_of(self.pid))
        self._code = self._state = None
        self._broken = True  # until it reports its state, which for example a restricted shell can no longer do

        def on_bytes(data: bytes) -> None:
            if piece := cutter.feed(data):
                feed(piece)

        self._channels.on_bytes = on_bytes
        timed_out = False
        try:
            write_script(self.folder, command)
            told = f"{setup}\n{calling(self.script, nonce, marked, stdin)}\n{reporting(nonce)}"
            await self._channels.tell(told)
            self.hurried = False
            with anyio.move_on_after(seconds) as limit:
                self._limit = limit
                code = await self._reported(nonce)
            self._limit = None
            if limit.cancelled_caught:
                timed_out = True
                code = await self.stop(before)
            gone = code is None or self._broken
            with anyio.move_on_after(_MARK_SECONDS):
                while not cutter.ended and not (gone and self._channels.drained):
                    await anyio.sleep(_POLL_SECONDS / 10)
            left = () if timed_out or gone else tuple(pid for pid in children_of(self.pid) if pid not in before)
            if left:
                if late := cutter.linger():
                    feed(late)
                await self._channels.until_silent()
        finally:
            self._channels.on_bytes = None
        if rest := cutter.rest():
            feed(rest)
        if gone and code is None:
            code = self._process.poll() if self._code is None else self._code
        if gone:
            self.kill()
        return Ended(code, timed_out, gone, left)

    async def run_once(self, seconds: float, feed: Callable[[bytes], None]) -> Ended:
        """Wait for the command of a shell made by `once`, and take its output. If the caller is cancelled, the command
        continues: call `stop`."""
        assert self._background is not None
        self._channels.on_bytes = feed
        self._background.start_soon(self._channels.pump)
        try:
            with anyio.move_on_after(seconds) as limit:
                self._limit = limit
                await self._process_end()
            self._limit = None
            if limit.cancelled_caught:
                await self.stop(set())
            with anyio.move_on_after(_MARK_SECONDS):
                while not self._channels.drained:
                    await anyio.sleep(_POLL_SECONDS)
        finally:
            self._channels.on_bytes = None
        return Ended(self._process.poll(), limit.cancelled_caught, True, ())

    async def stop(self, before: set[int]) -> int | None:
        """Interrupt, wait, and kill what a command started; `before` are the processes that were there before it.
        Returns the exit code that the shell reports, None if the shell was killed, too."""

        def rest() -> list[int]:
            return [pid for pid in children_of(self.pid) if pid not in before]

        code: int | None = None
        answered = anyio.Event()

        async def listen() -> None:
            nonlocal code
            code = await self._reported(self._nonce)
            answered.set()

        async def ask_again() -> None:
            """Have the shell report if it gave up the line for that: it does when it is interrupted as it reads."""
            idle = 0

            def is_lost() -> bool:  # not after `exec`: whatever is there then has its own way to end
                is_silent = not answered.is_set() and self._is_idle()
                return is_silent and self.alive and catches(self.pid, systems.SIGVTALRM)

            while True:
                await anyio.sleep(_POLL_SECONDS)
                idle = idle + 1 if is_lost() else 0
                if idle == _LOST_TIMES:
                    idle = 0
                    send([self.pid], signal.SIGINT)  # it gives up the rest of the line, too
                    await anyio.sleep(_POLL_SECONDS * _LOST_TIMES)  # a busy machine lets it do so late
                    if is_lost():
                        await self._channels.tell(reporting(self._nonce))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            if not self._is_single:
                tasks.start_soon(ask_again)
            started = time.monotonic()
            if catches(self.pid, systems.SIGVTALRM):  # not after `exec`: it would end the program
                send([self.pid], systems.SIGVTALRM)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                systems.signal_group(self.pid, signal.SIGINT)
            send(rest(), signal.SIGINT)
            asked = False
            # A program in the shell's place reports nothing.
            while time.monotonic() - started < _INTERRUPT_SECONDS and (rest() or (code is None and self.alive)):
                if not asked and time.monotonic() - started > _ASK_SECONDS:
                    send(rest(), signal.SIGTERM)
                    send(rest(), systems.SIGCONT)
                    asked = True
                await anyio.sleep(_POLL_SECONDS)
            had_rest = bool(rest())
            await anyio.to_thread.run_sync(end_now, rest)
            # If there are no processes below it, the shell itself does not respond.
            with anyio.move_on_after(_PROBE_SECONDS if had_rest else 0):
                await answered.wait()
            tasks.cancel_scope.cancel()
        if code is None and self.alive:
            await anyio.to_thread.run_sync(end_now, lambda: [*children_of(self.pid), self.pid])
            await anyio.to_thread.run_sync(self._process.wait)
        return code

    @property
    def script(self) -> str:
        """The file that a command is read from, as the shell's messages name it."""
        return str(self._inside / SCRIPT)

    def inside(self, name: str) -> str:
        """Return the path of a file in the shell's own folder, as the shell sees it."""
        return str(self._inside / name)

    async def until_childless(self, feed: Callable[[bytes], None]) -> None:
        """Wait for what a command left running, and keep taking its output."""
        self._channels.on_bytes = feed
        try:
            while self.alive and children_of(self.pid):
                await anyio.sleep(_CHILDLESS_SECONDS)
        finally:
            self._channels.on_bytes = None

    def hurry(self) -> None:
        """End the running command's time limit now."""
        if self._limit is not None:
            self.hurried = True
            self._limit.deadline = anyio.current_time()

    def processes(self) -> set[int]:
        """Return the processes that run here, including the shell itself if it ends with its command."""
        return set(children_of(self.pid)) | ({self.pid} if self._is_single and self.alive else set())

    # -- the three channels -----------------------------------------------------------------------------------------

    async def _reported(self, nonce: str) -> int | None:
        """Wait for the shell's report and return the exit code; None if the shell ended instead. Reports for an earlier
        command are skipped. What of a report was read before a wait was cancelled counts for the next one."""
        stuck = silent = 0
        while True:
            record: str | None = None
            with anyio.move_on_after(_PROBE_SECONDS):
                record = await self._channels.next_record()
            if record is None:
                stuck, silent = stuck + 1 if self._is_stuck() else 0, silent + 1
                # After its end a command has no influence any more: a shell that does not go on then is broken, or the
                # machine is busy.
                if stuck >= _STUCK_TIMES or (self._code is not None and silent >= _SILENT_TIMES):
                    return None
                continue
            silent = 0
            if not record and self._channels.ended:
                if self._code is None:
                    await self._process_end()
                return None
            if self._state is not None:
                self._take_state(self._state, record)
                continue
            kind, _, rest = record.partition(" ")
            named, _, value = rest.partition(" ")
            if named != nonce:
                continue
            if kind == "D" and self._code is None:
                self._code = _number(value)
            elif kind == "S":
                self._code = _number(value) if self._code is None else self._code
                self._state = []
            elif kind == "Z":
                return self._code

    def _take_state(self, state: list[str], record: str) -> None:
        """Take the next part of the shell's state, all of which make a report."""
        state.append(record)
        if len(state) == len(COMMANDS):
            self._state, self._broken = None, False
            with contextlib.suppress(ValueError):  # the one before it counts
                self.report = read_report(state)

    def _is_stuck(self) -> bool:
        """Return whether the shell halted itself, or has read everything it was told and reports nothing, for instance
        since a command disabled its builtins."""
        return is_halted(self.pid) or self._is_idle()

    def _is_idle(self) -> bool:
        """Return whether the shell waits, and not for what it was told: it has read all of that."""
        return self._channels.is_told_all() and is_asleep(self.pid)

    async def _process_end(self) -> None:
        """Wait for the end of the process. After an `exec` another program runs in the shell's place, maybe for
        long."""
        while self._process.poll() is None:
            await anyio.sleep(_POLL_SECONDS)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
