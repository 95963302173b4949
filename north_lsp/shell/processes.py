"""Inspects and signals processes with the system's own means: `/proc`, or `ps` where there is none. Imports nothing
that loads slowly.

It does not use `psutil` (7.2 was tried; every test passes with it): finding a shell's children, at the end of every
command, takes it 1.8 ms instead of 0.1, since it reads all processes although the kernel lists the children, and
finding a mark takes 11 ms instead of 3. On macOS it would also see environments, which `ps` does not show.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from north_lsp import systems

PROC = Path("/proc")
_HAS_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children").exists()


def children_of(root: int) -> list[int]:
    """Return all processes below one, the deepest last. A session's shell adopts orphaned processes, so that a daemon
    is found here, whatever it did to its group and its environment."""
    if not _has_proc():
        return sorted(from_ps(root) - {root})
    found: list[int] = []
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{parent}/task")
            texts = [PROC.joinpath(str(parent), "task", thread, "children").read_text("ascii") for thread in threads]
        except FileNotFoundError:
            if parent == root and not _HAS_CHILDREN:
                return _descendants_anywhere(root)
            continue  # it ended meanwhile
        except OSError:
            continue
        below = [int(pid) for text in texts for pid in text.split()]
        found += below
        waiting += below
    return [pid for pid in found if is_running(pid)]


def _descendants_anywhere(root: int) -> list[int]:
    parents = {pid: row[0] for pid in all_pids() if (row := parent_and_group(pid)) is not None}
    return sorted(descendants(root, parents) - {root})


def end_now(find: Callable[[], list[int]]) -> None:
    """Kill all processes that `find` returns, and repeat until there are none. They are halted first, since they may be
    multiplying."""
    for _ in range(100):
        rest = [pid for pid in find() if is_running(pid)]
        if not rest:
            return
        send(rest, systems.SIGSTOP)
        send(rest, systems.SIGKILL)
        time.sleep(0.01)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal each process, ignoring those that are gone or belong to another user."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def is_running(pid: int) -> bool:
    """Return whether a process exists and has not ended. Without `/proc`, one that has ended and that nobody has asked
    for counts as well."""
    if _has_proc():
        return parent_and_group(pid) is not None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def _has_proc() -> bool:
    return PROC.joinpath("self/stat").exists()


def all_pids() -> Iterable[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def parent_and_group(pid: int) -> tuple[int, int] | None:
    """Return the ids of a process's parent and group; None if it is gone or already dead."""
    try:
        stat = PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rfind(")") + 2 :].split()
    return None if fields[0] in "ZX" else (int(fields[1]), int(fields[2]))


def is_asleep(pid: int) -> bool:
    """Return whether a process waits for something; also True where that is unknown."""
    return _state(pid) in ("S", "I", "")


def is_halted(pid: int) -> bool:
    """Return whether a process is stopped until it is told to continue."""
    return _state(pid) == "T"


def _state(pid: int) -> str:
    """Return the process's state letter; empty if there is none."""
    if not _has_proc():
        return _ps("-o", "stat=", "-p", str(pid)).strip()[:1]
    try:
        stat = PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat[stat.rfind(")") + 2 :][:1]


def catches(pid: int, number: signal.Signals) -> bool:
    """Return whether a process has a handler for a signal; without `/proc`, whether it is a bash."""
    if not _has_proc():
        return _ps("-o", "comm=", "-p", str(pid)).strip().rpartition("/")[2] == "bash"
    try:
        status = PROC.joinpath(str(pid), "status").read_text("utf-8", "replace")
    except OSError:
        return False
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "SigCgt: 0")
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def environ_of(pid: int) -> list[bytes]:
    try:
        return PROC.joinpath(str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def descendants(root: int, parents: dict[int, int]) -> set[int]:
    found = {root} & parents.keys()
    grew = True
    while grew:
        children = {pid for pid, parent in parents.items() if parent in found or parent == root} - found
        grew = bool(children)
        found |= children
    return found


def from_ps(root: int) -> set[int]:
    """Return a process, those below it and those of its group, as `ps` lists them, without those that have ended."""
    rows = [row.split() for row in _ps("-Ao", "pid=,ppid=,pgid=,stat=").split("\n")]
    alive = [(int(row[0]), int(row[1]), int(row[2])) for row in rows if len(row) == 4 and row[3][0] != "Z"]
    parents = {pid: root if group == root and pid != root else parent for pid, parent, group in alive}
    return descendants(root, parents)


def _ps(*words: str) -> str:
    environ = os.environ | {"LC_ALL": "C"}  # dates are compared as text
    try:
        return subprocess.run(["/bin/ps", *words], capture_output=True, text=True, check=False, env=environ).stdout
    except OSError:
        return ""


def started_at(pid: int) -> str:
    """Return when a process started, in the kernel's ticks, or as a date without `/proc`; together with its id this
    identifies it. Has no spaces. Empty if it is gone."""
    if not _has_proc():
        return "_".join(_ps("-o", "lstart=", "-p", str(pid)).split())
    try:
        stat = PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat[stat.rfind(")") + 2 :].split()[19]
