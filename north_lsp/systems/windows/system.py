"""Windows by the names that `posix.py` has. What Windows has no counterpart of raises an OSError that says so."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

from north_lsp.systems.windows import files, native, programs

assert sys.platform == "win32"

CLOEXEC = os.O_NOINHERIT | os.O_BINARY
DIRECTORY, NOFOLLOW, NONBLOCK = files.DIRECTORY, files.NOFOLLOW, 0
CAN_SELECT_PIPES = CAN_KEEP_SHELLS = HAS_MODES = False
ONLY_PATH = {"NoDefaultCurrentDirectoryInExePath": "1"}  # a shell then looks for no programs in the present folder
PYTHON = "python"  # what Python is called to a user
Entry = files.Entry
SIGCONT = SIGHUP = SIGKILL = SIGSTOP = SIGVTALRM = signal.SIGTERM

_LOCK_NAME = ".lock"
_NO_WINDOW, _NEW_GROUP, _HALTED = 0x08000000, 0x200, 0x4
_places = threading.Lock()  # for reading and writing at a place, which moves a descriptor here

_files = files.Files(native)
open_file = _files.open_file
open_real = _files.open_real
true_path = _files.true_path
status_in = _files.status_in
make_folder_in = _files.make_folder_in
remove_folder_in = _files.remove_folder_in
unlink_in = _files.unlink_in
rename_in = _files.rename_in
link_in = _files.link_in
is_changeable = _files.is_changeable
scan = _files.scan
list_folder = _files.list_folder
replace = _files.replace


def lock(descriptor: int, *, wait: bool = False, shared: bool = False) -> None:
    """Lock an open file against other processes until it is closed. Raises BlockingIOError if another has it and nobody
    is to `wait`, and other OSErrors where there are no locks."""
    try:
        native.lock(native.handle_of(descriptor), wait=wait, shared=shared)
    except OSError as error:
        if error.winerror in (33, 997):  # locked, or waited for
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK)) from error
        raise


def lock_folder(path: str | os.PathLike[str], *, wait: bool = False, shared: bool = False) -> int:
    """Lock a folder against other processes until the returned descriptor is closed: folders cannot be locked here, so
    a file in it stands for it. Raises as `lock` does."""
    if not os.path.isdir(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    descriptor = open_file(os.path.join(path, _LOCK_NAME), os.O_RDWR | os.O_CREAT | NOFOLLOW | CLOEXEC)
    try:
        lock(descriptor, wait=wait, shared=shared)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_locked_by(path: str | os.PathLike[str], descriptor: int) -> bool:
    """Return whether what `lock_folder` returned is the lock of the folder that has this name now."""
    try:
        return os.path.samestat(os.stat(os.path.join(path, _LOCK_NAME)), os.fstat(descriptor))
    except OSError:
        return False


def is_own(status: os.stat_result) -> bool:
    """Return whether a file is this user's, which is not asked here: what is in a user's own folders is the user's."""
    del status
    return True


def change_mode(descriptor: int, mode: int) -> None:
    """Do nothing: who may do what with a file, it has from its folder."""


def change_owner(descriptor: int, user: int, group: int) -> None:
    """Do nothing: a file belongs to whoever made it."""


def read_at(descriptor: int, size: int, at: int) -> bytes:
    """Read without moving in the file. Raises OSError."""
    with _places, _kept_place(descriptor):
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.read(descriptor, size)


def write_at(descriptor: int, data: bytes, at: int) -> int:
    """Write without moving in the file. Raises OSError."""
    with _places, _kept_place(descriptor):
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.write(descriptor, data)


@contextmanager
def _kept_place(descriptor: int) -> Iterator[None]:
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        yield
    finally:
        os.lseek(descriptor, place, os.SEEK_SET)


def set_blocking(descriptor: int, *, blocking: bool) -> None:
    raise _not_here("set_blocking")


def signal_group(group: int, number: int) -> None:
    raise _not_here("killpg")


def make_fifo(path: str | os.PathLike[str], mode: int) -> None:
    raise _not_here("mkfifo")


def open_terminal() -> tuple[int, int]:
    raise _not_here("openpty")


def count_unread(descriptor: int, count: bytearray) -> None:
    raise _not_here("FIONREAD")


def poll_for_changes(descriptor: int) -> Any:
    raise _not_here("poll")


def machine_name() -> str:
    """Return the machine's name in its network."""
    return os.environ.get("COMPUTERNAME", "")


def home(environ: Mapping[str, str]) -> Path:
    """Return the user's home folder. `HOME` does not count: shells that were ported set it to a path of their own."""
    return Path(environ.get("USERPROFILE") or Path.home())


def own_folders(environ: Mapping[str, str]) -> tuple[Path, Path, Path]:
    """Return where North keeps what the user writes, what it keeps itself, and what may be deleted."""
    here = home(environ) / "AppData"
    roaming = Path(environ.get("APPDATA") or here / "Roaming")
    local = Path(environ.get("LOCALAPPDATA") or here / "Local") / "north"
    return roaming / "north", local / "data", local / "state"


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Find a program on the path of an environment."""
    return programs.find(name, environ, os.path.isfile)


def is_alive(pid: int) -> bool:
    """Return whether a process exists."""
    return native.process_started(pid) is not None


def apart() -> dict[str, Any]:
    """Return options that keep signals of the terminal from a child."""
    return {"creationflags": _NEW_GROUP}


class Tree:
    """A program that was started with everything that it starts: a job of Windows', which also ends with North."""

    def __init__(self, process: subprocess.Popen[bytes], job: int) -> None:
        self.process = process
        self._job: int | None = job

    def end(self) -> None:
        """Kill all of it."""
        if self._job is not None:
            native.end_job(self._job)

    def processes(self) -> list[int]:
        """Return the processes that run in it."""
        return [] if self._job is None else native.processes_of_job(self._job)

    def close(self) -> None:
        """Kill what is left, and let go."""
        job, self._job = self._job, None
        if job is not None:
            native.close(job)

    def __del__(self) -> None:
        self.close()


def start_tree(argv: Sequence[str | bytes], *, memory: int = 0, seconds: int = 0, **options: Any) -> Tree:
    """Start a program, with the options of `subprocess.Popen`, and with limits of memory and processor time where they
    are given. Raises OSError and ValueError."""
    import subprocess

    job = native.make_job()
    try:
        if memory or seconds:
            native.limit_job(job, memory, seconds)
        # Halted until it is in the job, so that nothing it starts can be outside.
        process = subprocess.Popen(argv, creationflags=_NO_WINDOW | _HALTED, **options)
        try:
            handle = int(process._handle)  # type: ignore[attr-defined]  # nothing else has it
            native.put_into_job(job, handle)
            native.resume(handle)
        except BaseException:
            process.kill()
            raise
    except BaseException:
        native.close(job)
        raise
    return Tree(process, job)


@contextmanager
def nameless_file() -> Iterator[IO[bytes]]:
    """Make a file for this process and its children alone; it is gone afterwards."""
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix="north-")
    try:
        with open(descriptor, "w+b") as file:
            yield file
    finally:
        with suppress(OSError):
            os.unlink(path)


@contextmanager
def given_to_child(descriptor: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Let a child have an open file: yields the path by which it opens that, and the options to start it with. The file
    is held meanwhile, so that nobody can put another one in its place."""
    with _files.held(descriptor) as path:
        yield path, {}


def limit_own_process(memory: int, seconds: int) -> None:
    """Limit this process from here on: memory and processor time. Raises OSError."""
    job = native.make_job()  # lives as long as this process
    native.limit_job(job, memory, seconds)
    native.put_into_job(job, native.OWN_PROCESS)


def command_of(words: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return a configured command as it can be started. Raises OSError."""
    return programs.command_of(words, environ, os.path.isfile)


@contextmanager
def end_signals() -> Iterator[AsyncIterator[signal.Signals]]:
    """Receive the signals that ask this process to end (Ctrl-C, Ctrl-Break), instead of being ended by them."""
    import asyncio

    loop, arrived = asyncio.get_running_loop(), asyncio.Queue[signal.Signals]()

    def take(number: int, frame: FrameType | None) -> None:
        del frame
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(arrived.put_nowait, signal.Signals(number))

    async def signals() -> AsyncIterator[signal.Signals]:
        while True:
            yield await arrived.get()

    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGBREAK, signal.SIGTERM)}
    try:
        yield signals()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _not_here(call: str) -> OSError:
    return OSError(errno.ENOTSUP, f"there is no {call} on Windows")
