"""Process trees: finding everything a command started, and ending it.

A daemon leaves its parent and its group, but it keeps its environment: every command carries a mark there.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from anyio import move_on_after, sleep, to_thread

MARK = "NORTH_COMMAND_ID"
GRACE_SECONDS = 2.0
_POLL_SECONDS = 0.02
_PROC = Path("/proc")
_HAS_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children").exists()


def find_tree(root_pid: int | None, mark: str) -> list[int]:
    """All live processes of a command: descendants, its group, and whatever carries its mark."""
    own = os.getpid()
    found: set[int] = set()
    if _PROC.joinpath("self/environ").exists():
        needle = f"{MARK}={mark}".encode()
        parents: dict[int, int] = {}
        for pid in _pids():
            parent = _parent_and_group(pid)
            if parent is None:
                continue
            parents[pid] = parent[0]
            if pid != own and (parent[1] == root_pid or needle in _environ(pid)):
                found.add(pid)
        if root_pid is not None:
            found |= _descendants(root_pid, parents)
    elif root_pid is not None:
        found |= _from_ps(root_pid)
    found.discard(own)
    return sorted(found, reverse=True)


def children_of(root: int) -> list[int]:
    """All processes below one, the deepest last. A session's shell adopts what loses its parent, so that a daemon is
    found here, whatever it did to its group and its environment."""
    found: list[int] = []
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{parent}/task")
            texts = [_PROC.joinpath(str(parent), "task", thread, "children").read_text("ascii") for thread in threads]
        except FileNotFoundError:
            if parent == root and not _HAS_CHILDREN:
                return _descendants_anywhere(root)
            continue  # it ended meanwhile
        except OSError:
            continue
        below = [int(pid) for text in texts for pid in text.split()]
        found += below
        waiting += below
    return [pid for pid in found if _is_alive(pid)]


def _descendants_anywhere(root: int) -> list[int]:
    if not _PROC.joinpath("self/stat").exists():
        return sorted(_from_ps(root) - {root})
    parents = {pid: row[0] for pid in _pids() if (row := _parent_and_group(pid)) is not None}
    return sorted(_descendants(root, parents) - {root})


def end_now(find: Callable[[], list[int]]) -> None:
    """Kill all processes that `find` names, again until there are none: halted first, since they may be multiplying."""
    for _ in range(100):
        rest = [pid for pid in find() if _is_alive(pid)]
        if not rest:
            return
        send(rest, signal.SIGSTOP)
        send(rest, signal.SIGKILL)
        time.sleep(0.01)


def _is_alive(pid: int) -> bool:
    return not _PROC.joinpath("self/stat").exists() or _parent_and_group(pid) is not None


def _pids() -> Iterable[int]:
    return (int(name) for name in os.listdir(_PROC) if name.isdigit())


def _parent_and_group(pid: int) -> tuple[int, int] | None:
    """None for a process that is gone or dead already."""
    try:
        stat = _PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rfind(")") + 2 :].split()
    return None if fields[0] in "ZX" else (int(fields[1]), int(fields[2]))


def is_asleep(pid: int) -> bool:
    """Whether a process waits for something; True as well where that cannot be told."""
    return _state(pid) in ("S", "")


def is_halted(pid: int) -> bool:
    """Whether a process goes on only when it is told to."""
    return _state(pid) == "T"


def _state(pid: int) -> str:
    """The letter of `/proc`; empty if there is none."""
    try:
        stat = _PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    return stat[stat.rfind(")") + 2 :][:1]


def _environ(pid: int) -> list[bytes]:
    try:
        return _PROC.joinpath(str(pid), "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _descendants(root: int, parents: dict[int, int]) -> set[int]:
    found = {root} & parents.keys()
    grew = True
    while grew:
        children = {pid for pid, parent in parents.items() if parent in found or parent == root} - found
        grew = bool(children)
        found |= children
    return found


def _from_ps(root: int) -> set[int]:
    rows = subprocess.run(["/bin/ps", "-Ao", "pid=,ppid="], capture_output=True, text=True, check=False).stdout.split(
        "\n"
    )
    parents = {int(pid): int(parent) for pid, parent in (row.split() for row in rows if row.strip())}
    return _descendants(root, parents)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal each process; the ones that are gone, or are not ours, do not matter."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


async def end_tree(find: Callable[[], list[int]], grace: float = GRACE_SECONDS) -> None:
    """Ask all processes to end, then kill what remains. Never raises."""
    pids = await to_thread.run_sync(find)
    send(pids, signal.SIGTERM)
    send(pids, signal.SIGCONT)
    with move_on_after(grace):
        while await to_thread.run_sync(find):
            await sleep(_POLL_SECONDS)
    for _ in range(50):  # a process may fork while it is being killed
        rest = await to_thread.run_sync(find)
        if not rest:
            break
        send(rest, signal.SIGKILL)
        await sleep(_POLL_SECONDS)
