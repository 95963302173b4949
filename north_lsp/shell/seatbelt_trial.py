"""Tries, inside a sandbox of macOS, what it must allow and what it must refuse, and prints what went through.

Runs as a separate script (`python -I -S -c` with this text, and with what to try on its input), without any of North's
modules; `seatbelt_probe.py` makes the files that are tried and judges the answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def attempts(inside: str, outside: str, temp: str, port: int) -> dict[str, Callable[[], Any]]:
    """Return what is tried, by name; each raises OSError if it is refused. What begins with `may` must go through."""
    held, closed = f"{inside}/held/config", f"{inside}/closed"
    return {
        "may write inside": lambda: _write(f"{inside}/new"),
        "may move inside": lambda: os.rename(f"{inside}/new", f"{inside}/moved"),
        "may remove inside": lambda: os.remove(f"{inside}/gone"),
        "may read a protected file": lambda: _read(held),
        "may write in its temporary folder": lambda: _write(f"{temp}/new"),
        "may write in an open folder": lambda: _write(f"{inside}/held/open/new"),
        "may write /dev/null": lambda: _write("/dev/null"),
        "may run a shell": lambda: _run("/bin/bash", "-c", "echo a | cat >/dev/null"),
        "create outside": lambda: _write(f"{outside}/new"),
        "write outside": lambda: _write(f"{outside}/file"),
        "remove outside": lambda: os.remove(f"{outside}/gone"),
        "change permissions outside": lambda: os.chmod(f"{outside}/file", 0o777),
        "change times outside": lambda: os.utime(f"{outside}/file", (1, 1)),
        "read outside": lambda: _read(f"{outside}/file"),
        "write outside through a link": lambda: _write(f"{inside}/link"),
        "link to outside": lambda: os.link(f"{outside}/file", f"{inside}/name of outside"),
        "write a protected file": lambda: _write(held),
        "write a protected file, by another case": lambda: _write_there(f"{inside}/HELD/CONFIG"),
        "create a file in a protected folder": lambda: _write(f"{inside}/held/new"),
        "replace a protected file": lambda: os.replace(_made(f"{inside}/other"), held),
        "move a protected folder": lambda: os.rename(f"{inside}/held", f"{inside}/free"),
        "move the folder around a protected one": lambda: os.rename(f"{inside}/around", f"{inside}/elsewhere"),
        "link to a protected file": lambda: os.link(held, f"{inside}/name of held"),
        "read a closed file": lambda: _read(closed),
        "read a closed file, by another case": lambda: _read(f"{inside}/CLOSED"),
        "move a closed file": lambda: os.rename(closed, f"{inside}/opened"),
        "link to a closed file": lambda: os.link(closed, f"{inside}/name of closed"),
        "write by a program of its own": lambda: _run("/bin/bash", "-c", 'echo x >"$1"', "bash", f"{outside}/by bash"),
        "reach this machine": lambda: socket.create_connection(("127.0.0.1", port), 2).close(),
        "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
        "reach a socket of another program": lambda: _connect(f"{inside}/socket"),
        "signal another program": lambda: _signal(os.getppid()),
    }


def _write(path: str) -> None:
    with open(path, "a", encoding="ascii") as file:
        file.write("x")


def _write_there(path: str) -> None:
    with open(path, "r+", encoding="ascii") as file:  # where case counts, there is no such file
        file.write("x")


def _made(path: str) -> str:
    _write(path)
    return path


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read()


def _run(*argv: str) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10, check=False)
    if done.returncode != 0:
        raise OSError(f"exit code {done.returncode}")


def _connect(path: str) -> None:
    if sys.platform == "win32":
        raise OSError("no such sockets")
    with socket.socket(socket.AF_UNIX) as made:
        made.connect(path)


def _signal(pid: int) -> None:
    if sys.platform == "win32":
        raise OSError("no such signals")
    os.kill(pid, signal.SIGCONT)


def main() -> None:
    went_through = []
    for name, attempt in attempts(**json.load(sys.stdin)).items():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            attempt()
            went_through.append(name)
    sys.stdout.write(json.dumps(went_through))


if __name__ == "__main__":
    main()
