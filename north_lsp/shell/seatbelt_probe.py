"""Finds out whether the sandbox of macOS holds here, by running a program in it that tries to get out."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.seatbelt import SANDBOX_EXEC
from north_lsp.shell.seatbelt_trial import attempts
from north_lsp.shell.spawning import as_input

_TRIAL = Path(__file__).with_name("seatbelt_trial.py")
_SECONDS = 30.0
_TEXT = "as it was"

Ident = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tried:
    """What the trial's sandbox holds in its workspace, in the words of `sandbox.Held`."""

    frozen: Mapping[str, Ident]
    hidden: Mapping[str, Ident]
    open: tuple[str, ...]
    protected: Mapping[str, Ident]
    problem: str = ""
    folders: Collection[str] = ()
    unreadable: Collection[str] = ()


def try_out(prefix: Callable[[Path, Path, Tried], Sequence[str]]) -> str:
    """Return what is wrong with the sandbox, empty if it holds. `prefix` returns the words that run a command in it,
    for a workspace, a temporary folder and what is held. Starts a process and waits for it."""
    if not os.access(SANDBOX_EXEC, os.X_OK):
        return f"there is no {SANDBOX_EXEC}"
    try:
        with tempfile.TemporaryDirectory(prefix="north-trial-") as made:
            return _try_in(Path(systems.true_path(made)), prefix)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return f"the sandbox could not be tried out: {error}"


def _try_in(base: Path, prefix: Callable[[Path, Path, Tried], Sequence[str]]) -> str:
    inside, outside, temp = base / "inside", base / "outside", base / "temp"
    for folder in (inside / "held/open", inside / "around/held", outside, temp):
        folder.mkdir(parents=True)
    kept = [inside / "held/config", inside / "around/held/config", inside / "closed", outside / "file"]
    for file in (*kept, inside / "gone", outside / "gone"):
        file.write_text(_TEXT, "ascii")
    (inside / "link").symlink_to(outside / "file")
    held = {str(path): (0, 0) for path in (inside / "held", inside / "around/held")}
    tried = Tried(held, {str(inside / "closed"): (0, 0)}, (str(inside / "held/open"),), held)
    argv = [*prefix(inside, temp, tried), "-D", f"TERMINAL={os.devnull}", "--", sys.executable, "-I", "-S"]
    argv += ["-c", _TRIAL.read_text("utf-8")]  # North's own files need not be readable in it
    with _listening(inside / "socket") as port:
        where = {"inside": str(inside), "outside": str(outside), "temp": str(temp), "port": port}
        with as_input(where) as given:
            done = subprocess.run(
                argv, stdin=given, capture_output=True, timeout=_SECONDS, check=False, text=True, cwd=inside
            )
    if done.returncode != 0:
        said = done.stderr.strip().split("\n")[-1][:200]
        return f"programs do not run in it: exit code {done.returncode}{', ' if said else ''}{said}"
    return _judged(json.loads(done.stdout), [*attempts("", "", "", 0)]) or _found(inside, outside, kept)


def _judged(went_through: object, names: Sequence[str]) -> str:
    """Return what should have been refused, or should not."""
    if not isinstance(went_through, list):
        return "the sandbox could not be tried out: no answer"
    for name in names:
        if name.startswith("may ") and name not in went_through:
            return f"in it, a program could not {name[4:]}"
        if not name.startswith("may ") and name in went_through:
            return f"a program in it could {name}"
    return ""


def _found(inside: Path, outside: Path, kept: Sequence[Path]) -> str:
    """Return what the files themselves say against it, whatever the program said."""
    if any(not path.is_file() or path.read_text("ascii") != _TEXT for path in kept):
        return "a program in it changed a file that it must not change"
    if {path.name for path in outside.iterdir()} != {"file", "gone"}:
        return "a program in it wrote outside"
    if not (inside / "moved").is_file() or (inside / "gone").exists():
        return "in it, a program could not write inside"
    return ""


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[int]:
    """Listen at a port, which is given, and at a socket with this path."""
    if sys.platform == "win32":
        raise OSError("there is no such sandbox on Windows")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as named:
        named.bind(str(path))
        named.listen()
        yield server.getsockname()[1]
