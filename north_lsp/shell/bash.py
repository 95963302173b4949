"""One bash that lives: a terminal for what commands print, a pipe for what they are told, a pipe for what bash reports.

The terminal carries output only. Bash reads North's lines from a pipe that commands never see (their standard input is
`/dev/null`), and reports over a third descriptor that is closed while a command runs, so that nothing a command prints
can pass for its end. Two marks with an unguessable nonce only say which part of the terminal's stream is the command's.
"""

import contextlib
import errno
import fcntl
import json
import math
import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.shell.cutting import Cutter
from north_lsp.shell.launcher import CONTROL_FD, TTY_FD
from north_lsp.shell.report import COMMANDS, ShellReport, read_report
from north_lsp.shell.sandbox import InForce
from north_lsp.shell.tree import MARK, children_of, end_now, is_asleep, send

_LAUNCHER = Path(__file__).with_name("launcher.py")
_START_SECONDS = 5.0
_INTERRUPT_SECONDS = 2.0
_ASK_SECONDS = 0.3
_PROBE_SECONDS = 1.0
_MARK_SECONDS = 0.25
_IDLE_SECONDS = 0.25
_DRAIN_SECONDS = 2.0
_POLL_SECONDS = 0.01
_REST_SECONDS = 0.3
_CHILDLESS_SECONDS = 0.1
_READ = 65_536
_READS_AT_ONCE = 32
_MAX_REPORT = 4 << 20
_ROWS, _COLUMNS = 40, 120
_SCRIPT = ".north-command"

_CLEAN = r"POSIXLY_CORRECT=$?; \unset -f builtin"
_RESET = (
    r"\builtin trap - DEBUG RETURN ERR INT TERM HUP QUIT; \builtin set +aefkuvxtCETP -Bh +mH +o pipefail +o history; "
    r"\builtin hash -r; PS1= PS2= PS0= PROMPT_COMMAND=; \builtin unset TMOUT PROMPT_COMMAND MAILCHECK"
    rf"; \builtin unset {MARK} 2>/dev/null || \builtin exit"  # a shell that no command can be marked in is of no use
)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. `exit_code` is None if the shell never said; `gone` means that the shell ended with it."""

    exit_code: int | None
    timed_out: bool
    gone: bool
    left_running: tuple[int, ...]


class StartFailed(ToolError):
    """A shell that is there, but does not do what a persistent one has to."""

    def __init__(self, problem: str) -> None:
        super().__init__("UNAVAILABLE", problem)


class Bash:
    """One shell process. Commands come one after the other; the caller sees to that."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", master: int, stdin: int, control: int, folder: Path, path: str
    ) -> None:
        self._process = process
        self._background: anyio.abc.TaskGroup | None = None
        self.path = path
        self._master = master
        self._stdin = stdin
        self._control = control
        self._folder = folder
        self._inside = folder
        self._pending = b""
        self._on_bytes: Callable[[bytes], None] | None = None
        self._last_output = 0.0
        self._closed = False
        self._pump_scope: anyio.CancelScope | None = None
        self._nonce = ""
        self._code: int | None = None
        self._broken = False
        self._limit: anyio.CancelScope | None = None
        self.hurried = False
        self.first: ShellReport | None = None
        self.report: ShellReport | None = None
        self.in_force: InForce | None = None

    # -- beginning and end -----------------------------------------------------------------------------------------

    @classmethod
    async def start(
        cls,
        bash: str,
        environ: Mapping[str, str],
        cwd: Path,
        folder: Path,
        sandbox: Mapping[str, Any] | None,
        background: anyio.abc.TaskGroup,
        *,
        terminal: bool = True,
        startup: str = "",
    ) -> "Bash":
        """A shell that has answered. `folder` is the shell's own; without `terminal` commands print into a pipe;
        `startup` are lines that it reads first. Raises ToolError."""
        argv = [bash, "--noprofile", "--norc", "--noediting", "-i"]
        output = os.openpty if terminal else os.pipe
        spawn = partial(cls._spawn, argv, dict(environ), cwd, folder, sandbox, output)
        shell = await cls._spawned(spawn, background)
        await shell._started(partial(shell._begin, startup))
        return shell

    @classmethod
    async def once(
        cls,
        bash: str,
        environ: Mapping[str, str],
        cwd: Path,
        folder: Path,
        sandbox: Mapping[str, Any] | None,
        background: anyio.abc.TaskGroup,
        command: str,
    ) -> "Bash":
        """A shell that reads one command and ends with it, for where none can be kept; `run_once` waits for it. Raises
        ToolError."""
        script = shlex.quote(str(folder / _SCRIPT)) if sandbox is None else f'"$TMPDIR"/{_SCRIPT}'
        lines = f"exec {TTY_FD}>&- {CONTROL_FD}>&- </dev/null; \\builtin . {script}"
        argv = [bash, "--noprofile", "--norc", "-c", lines]
        _write_script(folder, command)
        shell = await cls._spawned(
            partial(cls._spawn, argv, dict(environ), cwd, folder, sandbox, os.pipe), background, reads=False
        )
        await shell._started(shell._entered)
        return shell

    @classmethod
    async def _spawned(
        cls, spawn: "Callable[[], Bash]", background: anyio.abc.TaskGroup, *, reads: bool = True
    ) -> "Bash":
        """Without `reads` the pump waits for `run_once`, so that no output is lost."""
        made: list[Bash] = []
        try:
            await anyio.to_thread.run_sync(lambda: made.append(spawn()))
        except BaseException:  # cancelled while it was made: the thread has made it all the same
            for shell in made:
                shell.kill()
            raise
        (shell,) = made
        shell._background = background
        if reads:
            background.start_soon(shell._pump)
        return shell

    async def _started(self, begin: Callable[[], Awaitable[None]]) -> None:
        """Raises StartFailed."""
        try:
            with anyio.fail_after(_START_SECONDS):
                await begin()
        except TimeoutError:
            self.kill()
            raise StartFailed(f"{self.path} did not answer within {_START_SECONDS:g} s") from None
        except BaseException:
            self.kill()
            raise

    @classmethod
    def _spawn(
        cls,
        argv: list[str],
        environ: dict[str, str],
        cwd: Path,
        folder: Path,
        sandbox: Mapping[str, Any] | None,
        output: Callable[[], tuple[int, int]],
    ) -> "Bash":
        try:
            master, tty = output()
        except OSError:  # no terminal to be had: a pipe does it as well
            master, tty = os.pipe()
        stdin_read, stdin_write = os.pipe()
        control_read, control_write = os.pipe()
        ours, theirs = (master, stdin_write, control_read), (tty, stdin_read, control_write)
        if os.isatty(tty):
            _plain_terminal(tty)
        config: dict[str, Any] = {"tty": tty, "stdin": stdin_read, "control": control_write, "argv": argv}
        config["sandbox"] = None if sandbox is None else {**sandbox, "cwd": str(cwd)}
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_LAUNCHER), json.dumps(config)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=theirs,
                cwd=cwd,
                env=environ,
                start_new_session=True,
            )
        except OSError as error:
            for fd in (*ours, *theirs):
                os.close(fd)
            raise StartFailed(f"{argv[0]} could not be started: {error.strerror}") from None
        for fd in theirs:
            os.close(fd)
        for fd in ours:
            os.set_blocking(fd, False)
        return cls(process, *ours, folder, argv[0])

    async def _entered(self) -> None:
        """The launcher has done its part."""
        first = await self._next_record()
        if first.startswith("X ") or not first.startswith("P "):
            reason = first[2:] or "it ended at once"
            raise StartFailed(f"the shell {self.path} could not be started: {reason}")
        in_force = json.loads(first[2:])
        if in_force is not None:
            self.in_force = InForce(**in_force)
            self._inside = Path(self.in_force.temp)

    async def _begin(self, startup: str) -> None:
        await self._entered()
        self._nonce = uuid.uuid4().hex
        read = ""
        if startup:
            _write_script(self._folder, startup)
            quiet = f"</dev/null >/dev/null 2>&1 {TTY_FD}>&- {CONTROL_FD}>&-"
            read = f"\\builtin . {shlex.quote(self.script)} {quiet}\n{_CLEAN}; {_RESET}\n"
        await self._tell(f"{_CLEAN}; {_RESET}\n{read}{self._reporting(self._nonce)}")
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
        """Where the shell is, by the kernel's word where there is one."""
        try:
            return Path(os.readlink(f"/proc/{self.pid}/cwd"))
        except OSError:
            return None

    def strange_descriptors(self) -> bool:
        """Whether a command left descriptors open in the shell itself (`exec 5>file`)."""
        if not self._has_strange_descriptors():
            return False
        # Bash has reported, but may still have to close what it kept aside for that: what counts is what it rests with.
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
        """Give the descriptors back; the process is reaped."""
        if self._closed:
            return
        self._closed = True
        if self._pump_scope is not None:
            self._pump_scope.cancel()
        for fd in (self._stdin, self._control, self._master):
            anyio.notify_closing(fd)
            os.close(fd)
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
        """Run a command. `setup` are lines of North's own that come first; `marked` is put into its environment; it
        reads from the file `stdin`. On cancellation the command goes on: call `stop`."""
        nonce = self._nonce = uuid.uuid4().hex
        cutter = Cutter(nonce)
        before = set(children_of(self.pid))
        self._code = None
        self._broken = True  # until it tells its state, which a restricted shell, for one, cannot do any more

        def on_bytes(data: bytes) -> None:
            if piece := cutter.feed(data):
                feed(piece)

        self._on_bytes = on_bytes
        timed_out = False
        try:
            _write_script(self._folder, command)
            await self._tell(f"{setup}\n{self._calling(nonce, marked, stdin)}\n{self._reporting(nonce)}")
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
                while not cutter.ended and not (gone and self._drained):
                    await anyio.sleep(_POLL_SECONDS / 10)
            left = () if timed_out or gone else tuple(pid for pid in children_of(self.pid) if pid not in before)
            if left:
                if late := cutter.linger():
                    feed(late)
                await self._until_silent()
        finally:
            self._on_bytes = None
        if rest := cutter.rest():
            feed(rest)
        if gone and code is None:
            code = self._process.poll() if self._code is None else self._code
        if gone:
            self.kill()
        return Ended(code, timed_out, gone, left)

    async def run_once(self, seconds: float, feed: Callable[[bytes], None]) -> Ended:
        """Wait for the command of a shell made by `once`, and take its output. On cancellation it goes on: call
        `stop`."""
        assert self._background is not None
        self._on_bytes = feed
        self._background.start_soon(self._pump)
        try:
            with anyio.move_on_after(seconds) as limit:
                self._limit = limit
                await self._process_end()
            self._limit = None
            if limit.cancelled_caught:
                await self.stop(set())
            with anyio.move_on_after(_MARK_SECONDS):
                while not self._drained:
                    await anyio.sleep(_POLL_SECONDS)
        finally:
            self._on_bytes = None
        return Ended(self._process.poll(), limit.cancelled_caught, True, ())

    async def stop(self, before: set[int]) -> int | None:
        """Interrupt, wait, and kill what a command started; `before` are the processes that were there already. Gives
        the exit code that the shell reports, None if the shell had to go, too."""

        def rest() -> list[int]:
            return [pid for pid in children_of(self.pid) if pid not in before]

        code: int | None = None
        answered = anyio.Event()

        async def listen() -> None:
            nonlocal code
            code = await self._reported(self._nonce)
            answered.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listen)
            started = time.monotonic()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGINT)
            send(rest(), signal.SIGINT)
            asked = False
            while time.monotonic() - started < _INTERRUPT_SECONDS and (rest() or not answered.is_set()):
                if not asked and time.monotonic() - started > _ASK_SECONDS:
                    send(rest(), signal.SIGTERM)
                    send(rest(), signal.SIGCONT)
                    asked = True
                await anyio.sleep(_POLL_SECONDS)
            had_rest = bool(rest())
            await anyio.to_thread.run_sync(end_now, rest)
            # Without processes below it, it is the shell itself that does not listen.
            with anyio.move_on_after(_PROBE_SECONDS if had_rest else 0):
                await answered.wait()
            tasks.cancel_scope.cancel()
        if code is None and self._process.poll() is None:
            await anyio.to_thread.run_sync(end_now, lambda: [*children_of(self.pid), self.pid])
            await anyio.to_thread.run_sync(self._process.wait)
        return code

    @property
    def script(self) -> str:
        """The file that a command is read from, as the shell names it in its messages."""
        return str(self._inside / _SCRIPT)

    def inside(self, name: str) -> str:
        """A file of the shell's own folder, as the shell sees it."""
        return str(self._inside / name)

    async def until_childless(self, feed: Callable[[bytes], None]) -> None:
        """Wait for what a command left running, and go on taking its output."""
        self._on_bytes = feed
        try:
            while self.alive and children_of(self.pid):
                await anyio.sleep(_CHILDLESS_SECONDS)
        finally:
            self._on_bytes = None

    def hurry(self) -> None:
        """The time of the command that runs is over now."""
        if self._limit is not None:
            self.hurried = True
            self._limit.deadline = anyio.current_time()

    def processes(self) -> set[int]:
        return set(children_of(self.pid))

    def _calling(self, nonce: str, marked: str, stdin: str) -> str:
        script = shlex.quote(self.script)
        printf = r"\builtin printf '__NORTH_%s_%s__'"
        return (
            f"{printf} START {nonce}; {MARK}={marked} \\builtin . {script} "
            f"<{shlex.quote(stdin)} 1>&{TTY_FD} 2>&{TTY_FD} {TTY_FD}>&- {CONTROL_FD}>&-; "
            f"{_CLEAN}; {printf} END {nonce}; "
            f"\\builtin printf 'D {nonce} %s\\0' \"$POSIXLY_CORRECT\" >&{CONTROL_FD}; \\unset POSIXLY_CORRECT"
        )

    def _reporting(self, nonce: str) -> str:
        sections = r" \builtin printf '\0';".join(f" {command};" for command in COMMANDS)
        return (
            f"{_CLEAN}; \\builtin printf '__NORTH_%s_%s__' END {nonce}; {_RESET}; "
            f"{{ \\builtin printf 'S {nonce} %s\\0' \"$POSIXLY_CORRECT\";{sections} \\builtin printf '\\0'; }} "
            f">&{CONTROL_FD} 2>/dev/null; \\unset POSIXLY_CORRECT; \\builtin printf 'Z {nonce}\\0' >&{CONTROL_FD}\n"
        )

    # -- the three channels -----------------------------------------------------------------------------------------

    async def _tell(self, text: str) -> None:
        data = memoryview(text.encode("utf-8", "surrogateescape"))
        while data:
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stdin)
            except OSError:
                return  # the shell is gone, which shows when it is listened to

    async def _reported(self, nonce: str) -> int | None:
        """The exit code, once the shell has told its state; None if the shell has ended instead. What was reported for
        an earlier command is left out."""
        code: int | None = None
        while True:
            record = ""
            # Behind its end a command has no say any more: a shell that does not go on is broken.
            with anyio.move_on_after(math.inf if code is None else _PROBE_SECONDS):
                record = await self._next_record()
            if not record and code is not None:
                return None
            if not record and self._control_ended:
                await self._process_end()
                return None
            kind, _, rest = record.partition(" ")
            named, _, value = rest.partition(" ")
            if named != nonce:
                continue
            if kind == "D" and code is None:
                code = self._code = _number(value)
            elif kind == "S":
                code = self._code = _number(value) if code is None else code
                self._broken = False
                parts = [await self._next_record() for _ in COMMANDS]
                try:
                    self.report = read_report(parts)
                except ValueError:
                    continue
            elif kind == "Z":
                return code

    _control_ended = False
    _drained = False

    async def _next_record(self) -> str:
        """Up to the next NUL; empty once the shell has let go of its end."""
        while b"\0" not in self._pending:
            if self._control_ended or len(self._pending) > _MAX_REPORT:
                self._control_ended = True
                return ""
            try:
                data = os.read(self._control, _READ)
            except BlockingIOError:
                await anyio.wait_readable(self._control)
                continue
            self._control_ended = not data
            self._pending += data
        record, _, self._pending = self._pending.partition(b"\0")
        return record.decode("utf-8", "surrogateescape")

    async def _process_end(self) -> None:
        """After an `exec` another program is in the shell's place and may go on for long."""
        while self._process.poll() is None:
            await anyio.sleep(_POLL_SECONDS)

    async def _pump(self) -> None:
        """Read what is printed, always: a process in the background would stop at a full terminal."""
        with anyio.CancelScope() as self._pump_scope:
            while not self._closed:
                has_ended = self._process.poll() is not None  # asked first: it may print its last words in between
                data = self._read_some()
                if data is None:
                    return
                if data:
                    self._last_output = time.monotonic()
                    if self._on_bytes is not None:
                        self._on_bytes(data)
                    await anyio.lowlevel.checkpoint()
                    continue
                self._drained = has_ended
                with contextlib.suppress(anyio.ClosedResourceError):
                    await anyio.wait_readable(self._master)

    def _read_some(self) -> bytes | None:
        """What can be had at once; None at the end."""
        pieces: list[bytes] = []
        for _ in range(_READS_AT_ONCE):
            try:
                piece = os.read(self._master, _READ)
            except BlockingIOError:
                break
            except OSError as error:  # EIO: nobody has the terminal open any more
                if error.errno != errno.EIO or not pieces:
                    self._drained = True
                    return b"".join(pieces) or None
                break
            if not piece:
                break
            pieces.append(piece)
        return b"".join(pieces)

    async def _until_silent(self) -> None:
        """What processes in the background print right after the end still belongs to the command."""
        ended = self._last_output = time.monotonic()
        while time.monotonic() - self._last_output < _IDLE_SECONDS and time.monotonic() - ended < _DRAIN_SECONDS:
            await anyio.sleep(_POLL_SECONDS)


def _write_script(folder: Path, command: str) -> None:
    """Into a folder of our own: a few kilobytes are written faster than a thread is asked to. Raises ToolError."""
    script = folder / _SCRIPT
    data = command.encode("utf-8", "surrogateescape") + b"\n"
    try:
        if not folder.is_dir() or folder.is_symlink():  # an earlier command did that
            folder.unlink(missing_ok=True)
            folder.mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
        if script.is_dir() and not script.is_symlink():
            shutil.rmtree(script)
        script.unlink(missing_ok=True)
        fd = os.open(script, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ToolError("IO_ERROR", f"the command cannot be handed to the shell: {error.strerror}") from None


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _plain_terminal(fd: int) -> None:
    """No echo, no changes to what is printed, a size that programs can work with."""
    settings = termios.tcgetattr(fd)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(fd, termios.TCSANOW, settings)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
