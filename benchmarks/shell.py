"""Runs a thousand commands in one session: what North adds to bash, what the sandbox adds, and what is left over."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from north_lsp.agent.shell.setup import sandbox_of
from north_lsp.shell.environment import command_environment
from north_lsp.shell.processes import children_of
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.settings import Settings

COUNT = 1000


def memory() -> int:
    """Return the resident memory in kB."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def bash_itself(command: str, count: int) -> float:
    """Return the median time of `bash -c`, in milliseconds."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        subprocess.run(["bash", "--noprofile", "--norc", "-c", command], capture_output=True, check=True)
        times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


async def ignore(text: str) -> None:
    return None


async def contained(count: int) -> float:
    """Return the median time of a command that runs without asking in a workspace of 2,000 folders, in milliseconds."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for number in range(2000):
            (root / f"p{number % 40}/q{number}").mkdir(parents=True)
        async with anyio.create_task_group() as background:
            environ = command_environment(os.environ, frozenset())
            runner = CommandRunner(environ, background, root, sandbox_of(Settings(), (root,), environ))
            for number in range(count + 20):
                started = time.perf_counter()
                await runner.run("/bin/true", None, 10, ignore, "contained")
                if number >= 20:
                    times.append((time.perf_counter() - started) * 1000)
            await runner.end_all(0.1)
            background.cancel_scope.cancel()
    return statistics.median(times)


async def main() -> int:
    times = []
    with tempfile.TemporaryDirectory() as folder:
        async with anyio.create_task_group() as background:
            runner = CommandRunner(command_environment(os.environ, frozenset()), background, Path(folder))
            for _ in range(20):
                await runner.run("/bin/true", None, 10, ignore)
            before = (len(os.listdir("/proc/self/fd")), len(children_of(os.getpid())), memory())
            for _ in range(COUNT):
                started = time.perf_counter()
                await runner.run("/bin/true", None, 10, ignore)
                times.append((time.perf_counter() - started) * 1000)
            after = (len(os.listdir("/proc/self/fd")), len(children_of(os.getpid())), memory())
            await runner.end_all(0.1)
            background.cancel_scope.cancel()
    own, bash = statistics.median(times), bash_itself("/bin/true", 200)
    print(f"median per command: {own:.2f} ms; bash -c itself: {bash:.2f} ms; added: {own - bash:+.2f} ms (at most 5)")
    held = await contained(200)
    print(f"in the sandbox: {held:.2f} ms; added by it: {held - own:+.2f} ms (at most 15 in 2,000 folders)")
    print(f"95th percentile: {statistics.quantiles(times, n=20)[-1]:.2f} ms")
    for name, first, last in zip(("descriptors", "processes", "memory (kB)"), before, after, strict=True):
        print(f"{name}: {first} -> {last}")
    return 0 if own - bash <= 5 and held - own <= 15 and after[:2] == before[:2] and after[2] - before[2] < 4096 else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
