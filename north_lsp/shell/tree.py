"""Process trees: finds everything a command started, and ends it.

A daemon leaves its parent and its group, but it keeps its environment: every command carries a mark there.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from anyio import move_on_after, sleep, to_thread

from north_lsp import systems
from north_lsp.shell.processes import PROC, all_pids, descendants, environ_of, from_ps, parent_and_group, send

MARK = "NORTH_COMMAND_ID"
GRACE_SECONDS = 2.0
_POLL_SECONDS = 0.02


def find_tree(root_pid: int | None, mark: str) -> list[int]:
    """Return all live processes of a command: its descendants, its group, and whatever carries its mark."""
    own = os.getpid()
    found: set[int] = set()
    if PROC.joinpath("self/environ").exists():
        needle = f"{MARK}={mark}".encode()
        parents: dict[int, int] = {}
        for pid in all_pids():
            parent = parent_and_group(pid)
            if parent is None:
                continue
            parents[pid] = parent[0]
            if pid != own and (parent[1] == root_pid or needle in environ_of(pid)):
                found.add(pid)
        if root_pid is not None:
            found |= descendants(root_pid, parents)
    elif root_pid is not None:
        found |= from_ps(root_pid)
    found.discard(own)
    return sorted(found, reverse=True)


async def end_tree(find: Callable[[], list[int]], grace: float = GRACE_SECONDS) -> None:
    """Ask all processes to end, then kill what remains. Never raises."""
    pids = await to_thread.run_sync(find)
    send(pids, signal.SIGTERM)
    send(pids, systems.SIGCONT)
    with move_on_after(grace):
        while await to_thread.run_sync(find):
            await sleep(_POLL_SECONDS)
    for _ in range(50):  # a process may fork while it is being killed
        rest = await to_thread.run_sync(find)
        if not rest:
            break
        send(rest, systems.SIGKILL)
        await sleep(_POLL_SECONDS)
