"""Ends the shells of a session and whatever their commands left running."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.shell.bash import Bash
from north_lsp.shell.processes import children_of, end_now, is_running, started_at
from north_lsp.shell.tree import end_tree, find_tree


async def end_shells(shells: Sequence[Bash], marks: Iterable[str], grace: float) -> None:
    """End shells, what runs below them, and what has one of these marks. Processes get so many seconds to end by
    themselves."""
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
            tasks.start_soon(end_shell, bash)


async def end_shell(bash: Bash) -> None:
    """End one shell with all that runs in it, at once."""
    await anyio.to_thread.run_sync(end_processes, bash)
    bash.close()


def end_processes(bash: Bash) -> None:
    """Kill a shell with all that runs in it; whoever waits for it notices, and closes it. Blocks."""
    end_now(lambda: [*bash.processes(), bash.pid] if bash.alive else [])


def _below(shells: Sequence[Bash]) -> dict[int, str]:
    """Return the processes below the shells, each with its start time."""
    return {pid: started_at(pid) for bash in shells if bash.alive for pid in children_of(bash.pid)}


def _still_there(processes: Mapping[int, str]) -> list[int]:
    return [pid for pid, since in processes.items() if since and started_at(pid) == since and is_running(pid)]


def _ask_to_end(bash: Bash) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        systems.signal_group(bash.pid, 1)
