"""Supervises a command that continues without North: writes its output to a file and records how it ended.

Runs as a separate script (`python -I -S job_supervisor.py`, with JSON on its input), without any of North's modules.
It detaches from North at once (its parent ends), holds a lock on `lock` for as long as the command or anything that it
left running lives, and reports on its standard output how the start went: `{"pid": …}`, a line end, and the launcher's
answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from types import FrameType
from typing import Any

_SUBREAPER = 36
_READ = 65_536


def main(config: dict[str, Any]) -> None:
    if sys.platform == "win32":
        raise OSError("no command outlives North on Windows")
    if os.fork():
        os._exit(0)
    os.setsid()
    lock = os.open(config["lock"], os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if sys.platform == "linux":  # adopt orphaned processes, so that the job ends when all of them have
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    output, theirs = os.pipe()
    control, told = os.pipe()
    given = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    launch = {**config["launch"], "tty": theirs, "stdin": given, "control": told}
    with tempfile.TemporaryFile() as written:
        written.write(json.dumps(launch).encode())
        written.seek(0)
        process = subprocess.Popen(
            config["launcher"],
            stdin=written,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs, given, told),
            start_new_session=True,
        )
    for fd in (theirs, told, given):
        os.close(fd)

    def end(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    first = b""
    while b"\0" not in first and (data := os.read(control, _READ)):
        first += data
    with contextlib.suppress(OSError):
        os.write(1, json.dumps({"pid": os.getpid()}).encode() + b"\n" + first.partition(b"\0")[0])
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    _copy(output, config["output"], config["limit"])
    code = _until_childless(process.pid)
    temporary = f"{config['exit']}.new"
    with open(temporary, "w", encoding="ascii") as file:
        json.dump({"exitCode": code}, file)
    os.replace(temporary, config["exit"])
    shutil.rmtree(config["folder"], ignore_errors=True)


def _copy(source: int, path: str, limit: int) -> None:
    """Copy the output to a file. What exceeds the limit is read but dropped, since the command would block
    otherwise."""
    left = limit
    if sys.platform == "win32":
        return
    try:
        target = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        target, left = -1, 0
    while data := os.read(source, _READ):
        if left <= 0:
            continue
        with contextlib.suppress(OSError):
            os.write(target, data[:left])
            if left <= len(data):
                os.write(target, f"\n… cut: longer than {limit} bytes …\n".encode())
        left -= len(data)


def _until_childless(pid: int) -> int | None:
    """Wait until all processes have ended. Returns the exit code of the process `pid`, negative for a signal."""
    code = None
    while True:
        try:
            ended, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return code
        if ended == pid:
            code = os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main(json.load(sys.stdin))
