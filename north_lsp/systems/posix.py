"""What North asks of Linux and macOS. `windows/` has the same names for Windows; who imports them takes them from
`north_lsp.systems`. Imports nothing of ours."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

assert sys.platform != "win32"

CLOEXEC, DIRECTORY, NOFOLLOW, NONBLOCK = os.O_CLOEXEC, os.O_DIRECTORY, os.O_NOFOLLOW, os.O_NONBLOCK
CAN_SELECT_PIPES = CAN_KEEP_SHELLS = HAS_MODES = True
ONLY_PATH = dict[str, str]()  # variables that keep a shell from looking for programs in the present folder
PYTHON = "python3"  # what Python is called to a user
Entry = os.DirEntry[str]
SIGCONT, SIGHUP, SIGKILL, SIGSTOP = signal.SIGCONT, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP
SIGVTALRM = signal.SIGVTALRM


def open_file(path: str | os.PathLike[str], flags: int, mode: int = 0o777, *, folder: int | None = None) -> int:
    """Open as `os.open` does; with `folder` by a name in that open folder. Raises OSError."""
    return os.open(path, flags, mode, dir_fd=folder)


def status_in(folder: int, name: str) -> os.stat_result:
    """Return the status of what has this name in an open folder, of a link itself. Raises OSError."""
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def make_folder_in(folder: int, name: str) -> None:
    """Create a folder in an open one. Raises OSError."""
    os.mkdir(name, dir_fd=folder)


def remove_folder_in(folder: int, name: str) -> None:
    """Remove an empty folder from an open folder. Raises OSError."""
    os.rmdir(name, dir_fd=folder)


def unlink_in(folder: int, name: str) -> None:
    """Remove a file, or a link itself, from an open folder. Raises OSError."""
    os.unlink(name, dir_fd=folder)


def rename_in(folder: int, old: str, new: str) -> None:
    """Rename within an open folder; a file of that name is replaced. Raises OSError."""
    os.replace(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def link_in(folder: int, old: str, new: str) -> None:
    """Give a file a second name in the same open folder. Raises OSError."""
    os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)


def is_changeable(folder: int) -> bool:
    """Return whether names in an open folder may be changed, as far as that can be known beforehand."""
    return os.access(".", os.W_OK | os.X_OK, dir_fd=folder)


def scan(folder: int) -> AbstractContextManager[Iterator[Entry]]:
    """List what is in an open folder."""
    return os.scandir(folder)


def list_folder(path: str | os.PathLike[str]) -> list[str]:
    """Return what is in a folder. Raises OSError: NotADirectoryError for what is none."""
    return os.listdir(path)


def replace(old: str | os.PathLike[str], new: str | os.PathLike[str]) -> None:
    """Rename, replacing a file of that name. Raises OSError."""
    os.replace(old, new)


def lock(descriptor: int, *, wait: bool = False, shared: bool = False) -> None:
    """Lock an open file or folder against other processes until it is closed. Raises BlockingIOError if another has
    it and nobody is to `wait`, and other OSErrors where there are no locks."""
    import fcntl

    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)


def lock_folder(path: str | os.PathLike[str], *, wait: bool = False, shared: bool = False) -> int:
    """Lock a folder against other processes until the returned descriptor is closed. Raises as `lock` does."""
    descriptor = os.open(path, os.O_RDONLY | DIRECTORY | NOFOLLOW | CLOEXEC)
    try:
        lock(descriptor, wait=wait, shared=shared)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_locked_by(path: str | os.PathLike[str], descriptor: int) -> bool:
    """Return whether what `lock_folder` returned is the lock of the folder that has this name now."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except OSError:
        return False


def is_own(status: os.stat_result) -> bool:
    """Return whether a file is this user's."""
    return status.st_uid == os.getuid()


def change_mode(descriptor: int, mode: int) -> None:
    """Change the permissions of an open file. Raises OSError."""
    os.fchmod(descriptor, mode)


def change_owner(descriptor: int, user: int, group: int) -> None:
    """Change the owner of an open file. Raises OSError."""
    os.fchown(descriptor, user, group)


def read_at(descriptor: int, size: int, at: int) -> bytes:
    """Read without moving in the file. Raises OSError."""
    return os.pread(descriptor, size, at)


def write_at(descriptor: int, data: bytes, at: int) -> int:
    """Write without moving in the file. Raises OSError."""
    return os.pwrite(descriptor, data, at)


def set_blocking(descriptor: int, *, blocking: bool) -> None:
    """Say whether calls for a descriptor wait. Raises OSError."""
    os.set_blocking(descriptor, blocking)


def signal_group(group: int, number: int) -> None:
    """Signal all processes of a group. Raises OSError."""
    os.killpg(group, number)


def true_path(path: str) -> str:
    """Return a path without links and, on macOS, in the case and the form in which the file system keeps it, as the
    kernel names it; what is not there is named below the folder around it."""
    real = os.path.realpath(path)
    if sys.platform != "darwin":
        return real
    import fcntl

    try:
        descriptor = os.open(real, os.O_EVTONLY | os.O_CLOEXEC)
    except OSError:
        folder, name = os.path.split(real)
        return os.path.join(true_path(folder), name) if folder != real else real
    try:
        found = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
    except OSError:
        return real
    finally:
        os.close(descriptor)
    return os.fsdecode(found.split(b"\0")[0])


def make_fifo(path: str | os.PathLike[str], mode: int) -> None:
    """Create a named pipe. Raises OSError."""
    os.mkfifo(path, mode)


def open_terminal() -> tuple[int, int]:
    """Return both ends of a new terminal. Raises OSError."""
    return os.openpty()


def count_unread(descriptor: int, count: bytearray) -> None:
    """Write how many bytes of a pipe nobody has read into `count`, as a C integer. `descriptor` is the end that writes.
    Raises OSError, on macOS always: there that end says of itself that it has nothing to read."""
    import fcntl
    import termios

    if sys.platform == "darwin":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    fcntl.ioctl(descriptor, termios.FIONREAD, count)


def poll_for_changes(descriptor: int) -> Any:
    """Return what tells that a file of the kernel's has changed. Raises OSError."""
    import select

    made = select.poll()
    made.register(descriptor, select.POLLPRI | select.POLLERR)
    return made


def machine_name() -> str:
    """Return the machine's name in its network."""
    return os.uname().nodename


def home(environ: Mapping[str, str]) -> Path:
    """Return the user's home folder."""
    return Path(environ.get("HOME") or Path.home())


def own_folders(environ: Mapping[str, str]) -> tuple[Path, Path, Path]:
    """Return where North keeps what the user writes, what it keeps itself, and what may be deleted."""
    here = home(environ)
    config = _xdg(environ, "XDG_CONFIG_HOME", here / ".config")
    state = _xdg(environ, "XDG_STATE_HOME", here / ".local" / "state")
    return config / "north", here / ".north", state / "north"


def _xdg(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    # The XDG specification says to ignore a relative path.
    value = environ.get(variable)
    return Path(value) if value and os.path.isabs(value) else default


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Find a program on the path of an environment."""
    import shutil

    return shutil.which(name, path=environ.get("PATH"))


def is_alive(pid: int) -> bool:
    """Return whether a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def apart() -> dict[str, Any]:
    """Return options that keep signals of the terminal from a child."""
    return {"start_new_session": True}


class Tree:
    """A program that was started with everything that it starts."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def end(self) -> None:
        """Kill all of it that is still in the program's group. Blocks for a moment at most."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, SIGKILL)

    def processes(self) -> list[int]:
        """Return the processes of its group, as far as they are known here: the program alone."""
        return [self.process.pid] if self.process.poll() is None else []

    def close(self) -> None:
        """Let go of it."""


def start_tree(argv: Sequence[str | bytes], **options: Any) -> Tree:
    """Start a program, with the options of `subprocess.Popen`. Raises OSError and ValueError."""
    import subprocess

    return Tree(subprocess.Popen(argv, start_new_session=True, **options))


def nameless_file() -> AbstractContextManager[IO[bytes]]:
    """Make a file for this process and its children alone."""
    import tempfile

    return tempfile.TemporaryFile()


@contextmanager
def given_to_child(descriptor: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Let a child have an open file: yields the path by which it opens that, and the options to start it with."""
    yield f"/dev/fd/{descriptor}", {"pass_fds": (descriptor,)}


def limit_own_process(memory: int, seconds: int) -> None:
    """Limit this process from here on: memory, processor time, no core dump, no writing to files."""
    import resource

    limits = ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0))
    for kind, most in (*limits, (resource.RLIMIT_FSIZE, 0)):
        hard = resource.getrlimit(kind)[1]
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (wanted, wanted))
        except (ValueError, OSError):
            continue  # macOS cannot limit the memory of a process


def command_of(words: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return a configured command as it can be started."""
    del environ
    return list(words)


@contextmanager
def end_signals() -> Iterator[AsyncIterator[signal.Signals]]:
    """Receive the signals that ask this process to end, instead of being ended by them."""
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, SIGHUP) as signals:
        yield signals
