"""What North asks of Linux and macOS, by one name each: flags, locks, signals and calls that Windows does not have.

On Windows whoever calls one of them gets an OSError that says so, and the flags are none; the command line does not
start there (`cli/main.py`). Imports nothing of ours.
"""

import errno
import os
import signal
import sys
from typing import Any

if sys.platform == "win32":
    CLOEXEC = os.O_NOINHERIT | os.O_BINARY
    DIRECTORY = NOFOLLOW = NONBLOCK = 0
    SIGCONT = SIGHUP = SIGKILL = SIGSTOP = signal.SIGTERM
else:
    CLOEXEC, DIRECTORY, NOFOLLOW, NONBLOCK = os.O_CLOEXEC, os.O_DIRECTORY, os.O_NOFOLLOW, os.O_NONBLOCK
    SIGCONT, SIGHUP, SIGKILL, SIGSTOP = signal.SIGCONT, signal.SIGHUP, signal.SIGKILL, signal.SIGSTOP


def lock(descriptor: int, *, wait: bool = False, shared: bool = False) -> None:
    """Lock an open file or folder against other processes until it is closed. Raises BlockingIOError if another has
    it and nobody is to `wait`, and other OSErrors where there are no locks."""
    if sys.platform == "win32":
        raise _not_here("flock")
    import fcntl

    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)


def change_mode(descriptor: int, mode: int) -> None:
    """Change the permissions of an open file. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("fchmod")
    os.fchmod(descriptor, mode)


def change_owner(descriptor: int, user: int, group: int) -> None:
    """Change the owner of an open file. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("fchown")
    os.fchown(descriptor, user, group)


def read_at(descriptor: int, size: int, at: int) -> bytes:
    """Read without moving in the file. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("pread")
    return os.pread(descriptor, size, at)


def write_at(descriptor: int, data: bytes, at: int) -> int:
    """Write without moving in the file. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("pwrite")
    return os.pwrite(descriptor, data, at)


def set_blocking(descriptor: int, *, blocking: bool) -> None:
    """Say whether calls for a descriptor wait. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("set_blocking")
    os.set_blocking(descriptor, blocking)


def signal_group(group: int, number: int) -> None:
    """Signal all processes of a group. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("killpg")
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
    if sys.platform == "win32":
        raise _not_here("mkfifo")
    os.mkfifo(path, mode)


def open_terminal() -> tuple[int, int]:
    """Return both ends of a new terminal. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("openpty")
    return os.openpty()


def count_unread(descriptor: int, count: bytearray) -> None:
    """Write how many bytes of a pipe nobody has read into `count`, as a C integer. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("FIONREAD")
    import fcntl
    import termios

    fcntl.ioctl(descriptor, termios.FIONREAD, count)


def poll_for_changes(descriptor: int) -> Any:
    """Return what tells that a file of the kernel's has changed. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("poll")
    import select

    made = select.poll()
    made.register(descriptor, select.POLLPRI | select.POLLERR)
    return made


def user() -> int:
    """Return the number of the user who runs this. Raises OSError."""
    if sys.platform == "win32":
        raise _not_here("getuid")
    return os.getuid()


def machine_name() -> str:
    """Return the machine's name in its network."""
    if sys.platform == "win32":
        return os.environ.get("COMPUTERNAME", "")
    return os.uname().nodename


def _not_here(call: str) -> OSError:
    return OSError(errno.ENOTSUP, f"there is no {call} on {sys.platform}")
