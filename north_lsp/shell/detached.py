"""Detached jobs: commands that continue after North with the user's approval. They are started through
`job_supervisor.py` and found again by their records.

Each has a folder with its description (`job.json`), a lock that is held while it lives, and, once it has ended, its
exit code. Only the lock is reliable: the process id may belong to another process by now.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.factory import ShellMaker, private_folder
from north_lsp.shell.job_processes import Feed, JobSpec
from north_lsp.shell.processes import children_of, end_now
from north_lsp.shell.protocol import single
from north_lsp.shell.report import exporting
from north_lsp.shell.spawning import LAUNCHER, SCRIPT, as_input, write_script
from north_lsp.shell.tree import MARK
from north_lsp.storage.entries import timestamp
from north_lsp.storage.files import MAX_CONFIG_BYTES, json_bytes, private_directory, read_json, write_atomic

MAX_OUTPUT_BYTES = 128 * 1024 * 1024
_HOLDER = Path(__file__).with_name("job_supervisor.py")
_START_SECONDS = 10.0
_POLL_SECONDS = 0.1
_READ = 262_144
_FROM_END = 65_536


@dataclass(frozen=True, slots=True)
class DetachedJob:
    """One detached job: `folder` has its record, `output` is the file with everything it printed, `pid` its supervisor.
    `since` is a timestamp."""

    folder: Path
    command: str
    cwd: Path
    output: Path
    pid: int
    since: str

    @property
    def id(self) -> str:
        return self.folder.name

    def age(self) -> float:
        """Return how long it has been running, in seconds."""
        try:
            return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(self.since)).total_seconds())
        except (ValueError, TypeError):
            return 0.0

    def is_alive(self) -> bool:
        try:
            fd = os.open(self.folder / "lock", os.O_RDWR | systems.CLOEXEC | systems.NOFOLLOW)
        except OSError:
            return False
        try:
            systems.lock(fd)
        except OSError:
            return True
        finally:
            os.close(fd)
        return False

    def exit_code(self) -> int | None:
        """Return the exit code; None while it lives, and if it is unknown."""
        try:
            content = read_json(self.folder / "exit.json", MAX_CONFIG_BYTES)
        except (OSError, ValueError):
            return None
        code = content.get("exitCode") if isinstance(content, dict) else None
        return code if isinstance(code, int) else None

    def forget(self) -> None:
        """Delete the record. Its output file stays."""
        shutil.rmtree(self.folder, ignore_errors=True)


def find_detached(records: Path) -> list[DetachedJob]:
    """Return all detached jobs of a project, including those that have ended. Blocks."""
    found: list[DetachedJob] = []
    with contextlib.suppress(OSError):
        for folder in sorted(records.iterdir()):
            try:
                content = read_json(folder / "job.json", MAX_CONFIG_BYTES)
            except (OSError, ValueError):
                continue
            if not isinstance(content, dict):
                continue
            match content:
                case {"command": str(command), "cwd": str(cwd), "output": str(output), "pid": int(pid)}:
                    since = str(content.get("since", ""))
                    found.append(DetachedJob(folder, command, Path(cwd), Path(output), pid, since))
    return found


async def start_detached(
    maker: ShellMaker, records: Path, job: JobSpec, changes: Mapping[str, str | None], output: Path, *, contained: bool
) -> DetachedProcess:
    """Start a detached job. `output` exists and is empty; `changes` are as for other jobs. Raises ToolError."""
    bash = maker.bash()
    folder = await anyio.to_thread.run_sync(partial(private_folder, outlives=True))
    try:
        sandbox = await maker.sandbox(folder, contained=contained)
        write_script(folder, "\n".join([*exporting(changes, {}), job.command]))
        lines = single(folder, SCRIPT, "", sandboxed=sandbox is not None, waits=False)
        argv = [bash, "--noprofile", "--norc", "-c", lines]
        launch = {"argv": argv, "sandbox": None if sandbox is None else {**sandbox, "cwd": str(job.cwd)}}
        environ = {**maker.environ, MARK: job.mark}
        kept = await anyio.to_thread.run_sync(partial(_start, records, job, output, folder, launch, environ))
    except BaseException:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))
        raise
    return DetachedProcess(kept, from_end=False)


def _start(
    records: Path, job: JobSpec, output: Path, folder: Path, launch: Mapping[str, object], environ: dict[str, str]
) -> DetachedJob:
    """Start the supervisor and write the job's record. Blocks. Raises ToolError."""
    record = records / os.urandom(16).hex()[:12]
    config = {
        "launcher": LAUNCHER,
        "launch": launch,
        "lock": str(record / "lock"),
        "output": str(output),
        "exit": str(record / "exit.json"),
        "folder": str(folder),
        "limit": MAX_OUTPUT_BYTES,
    }
    with contextlib.ExitStack() as undo:
        undo.callback(shutil.rmtree, record, ignore_errors=True)
        try:
            pid, since = _hold(record, job, output, config, environ)
        except subprocess.TimeoutExpired:
            message = f"a command that outlives North did not start within {_START_SECONDS:g} s"
            raise ToolError("UNAVAILABLE", message) from None
        except (OSError, ValueError) as error:
            raise ToolError("UNAVAILABLE", f"a command that outlives North cannot be started: {error}") from None
        undo.pop_all()
    return DetachedJob(record, job.command, job.cwd, output, pid, since)


def _hold(
    record: Path, job: JobSpec, output: Path, config: Mapping[str, object], environ: dict[str, str]
) -> tuple[int, str]:
    """Start the supervisor. Returns its process id and when it was started. Raises ToolError, OSError, ValueError,
    TimeoutExpired."""
    private_directory(record)
    with as_input(config) as given:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(_HOLDER)],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=job.cwd,
            env=environ,
            timeout=_START_SECONDS,
            check=False,
        )
    first, _, told = done.stdout.partition(b"\n")
    pid = json.loads(first)["pid"]
    if not told.startswith(b"P "):
        raise ToolError("UNAVAILABLE", f"it could not be started: {told[2:].decode('utf-8', 'replace')}")
    since = timestamp()
    content = {"command": job.command, "cwd": str(job.cwd), "output": str(output), "pid": pid, "since": since}
    write_atomic(record / "job.json", json_bytes({"version": 1, **content}), 0o600)
    return pid, since


class DetachedProcess:
    """The process of a detached job, which continues after `detach`. With `from_end` only the last part of its output
    so far is read."""

    hidden = "\0"

    def __init__(self, detached_job: DetachedJob, *, from_end: bool) -> None:
        self.detached_job = detached_job
        self._position = -_FROM_END if from_end else 0

    @property
    def pid(self) -> int:
        return self.detached_job.pid

    async def run(self, feed: Feed) -> int | None:
        while True:
            alive = await anyio.to_thread.run_sync(
                self.detached_job.is_alive
            )  # checked first: it may print its last output
            data = await anyio.to_thread.run_sync(self._read)
            if data:
                feed(data)
            elif not alive:
                code = await anyio.to_thread.run_sync(self.detached_job.exit_code)
                await anyio.to_thread.run_sync(self.detached_job.forget)
                return code
            else:
                await anyio.sleep(_POLL_SECONDS)

    def _read(self) -> bytes:
        try:
            with open(self.detached_job.output, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                if self._position < 0:
                    self._position = max(0, size + self._position)
                data = systems.read_at(file.fileno(), _READ, self._position)
        except OSError:
            return b""
        self._position += len(data)
        return data

    def asked(self) -> list[int]:
        """Return the processes to end, without the supervisor, which records the exit code."""
        return children_of(self.pid) if self.detached_job.is_alive() else []

    def end_now(self) -> None:
        end_now(self.asked)

    def send(self, data: bytes) -> int:
        raise BrokenPipeError

    async def detach(self) -> None:
        return None
