"""Run the tests in real editors, several at once, and print a table: `python -m tests.e2e.run [words of names …]`.

Every program of `vscode/` (`smoke.mjs`, `extension*.mjs`, `pictures.mjs`) and every test file of `nvim/`, `editors/`,
`mcp/`, `acp/` and `shells/` is a process of its own. As many run at once as there are processors, four at most;
`NORTH_E2E_AT_ONCE` changes that. What each printed is shown when it ends.

A program that failed beside others runs once more, alone: a window that a busy machine draws late is told from a defect
that way. Both outputs are shown, and the table names it. `NORTH_E2E_STRICT=1` counts every first failure.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]

MOST_AT_ONCE = 4
LIMIT_SECONDS = 900
MOST_AGAIN = 4
"""More failures than these are no accident."""

# They take the longest, so they begin first.
LONG = [
    "nvim/test_plugin.py",
    "vscode/extension-people.mjs",
    "vscode/extension-conversations.mjs",
    "vscode/extension-setup.mjs",
    "vscode/extension-reload.mjs",
    "vscode/extension-places.mjs",
    "vscode/extension-review.mjs",
]


@dataclass(frozen=True, slots=True)
class Result:
    program: str
    code: int
    seconds: float
    output: str


RUNNING: set[subprocess.Popen[str]] = set()


def programs() -> Iterator[str]:
    """Name every program, relative to this folder."""
    for pattern in (
        "nvim/smoke.py",
        "nvim/test_*.py",
        "editors/test_*.py",
        "mcp/test_*.py",
        "acp/test_*.py",
        "shells/test_*.py",
        "vscode/smoke.mjs",
        "vscode/extension*.mjs",
        "vscode/pictures.mjs",
    ):
        yield from (str(path.relative_to(HERE)) for path in sorted(HERE.glob(pattern)))


def command(program: str) -> list[str]:
    path = str(HERE / program)
    return [str(HERE / "vscode/run"), path] if program.endswith(".mjs") else [sys.executable, "-m", "pytest", path]


def run(program: str) -> Result:
    """Run one program. One that hangs is ended with all its processes."""
    began = time.monotonic()
    process = subprocess.Popen(
        command(program),
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    RUNNING.add(process)
    try:
        output = process.communicate(timeout=LIMIT_SECONDS)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = f"{process.communicate()[0]}\nended: it took longer than {LIMIT_SECONDS} s"
    RUNNING.discard(process)
    return Result(program, process.returncode, time.monotonic() - began, output)


def main() -> int:
    words = sys.argv[1:]
    wanted = [program for program in programs() if not words or any(word in program for word in words)]
    if not wanted:
        print(f"no program's name contains {' or '.join(words)}")
        return 2
    wanted.sort(key=lambda program: LONG.index(program) if program in LONG else len(LONG))
    at_once = int(os.environ.get("NORTH_E2E_AT_ONCE") or min(os.cpu_count() or 1, MOST_AT_ONCE))
    # Each set-up waits for the others on a lock; done before, no program's time has it.
    for bed in ("setup-nvim.sh", "setup-vscode.sh", "setup-mcp.sh", "setup-acp.sh"):
        subprocess.run([HERE / bed], check=True, stdout=subprocess.DEVNULL)
    with ThreadPoolExecutor(at_once) as pool:
        results = run_all(pool, wanted)
    failed = [result for result in results if result.code]
    strict = os.environ.get("NORTH_E2E_STRICT") == "1"
    again = failed if 0 < len(failed) <= MOST_AGAIN and at_once > 1 and len(wanted) > 1 and not strict else []
    with ThreadPoolExecutor(1) as pool:
        second = {result.program: result for result in run_all(pool, [result.program for result in again])}
    print("| program | seconds | |\n|---|---:|---|")
    broken = False
    for result in sorted(results, key=lambda result: result.seconds):
        last = second.get(result.program, result)
        broken = broken or last.code != 0
        word = "FAILED" if last.code else "ok" if last is result else "failed, then ok alone: FLAKY"
        print(f"| {result.program} | {result.seconds:.0f} | {word} |")
    return 1 if broken else 0


def run_all(pool: ThreadPoolExecutor, wanted: Sequence[str]) -> list[Result]:
    """Run programs and show what each printed as it ends."""
    ends = [pool.submit(run, program) for program in wanted]
    results = []
    try:
        for end in as_completed(ends):
            result = end.result()
            results.append(result)
            word = "ok" if result.code == 0 else f"FAILED, exit code {result.code}"
            print(f"==== {result.program}: {word}, {result.seconds:.0f} s\n{result.output}", flush=True)
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in tuple(RUNNING):
            os.killpg(process.pid, signal.SIGINT)
        raise
    return results


if __name__ == "__main__":
    sys.exit(main())
