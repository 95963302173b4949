"""What a sandboxed command may touch, and whether this machine can hold it to that."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from north_lsp.shell.launcher import filters_system_calls, landlock_version

_SKIPPED = frozenset({"node_modules", ".venv", "venv", "target", "__pycache__", ".tox", ".nox", "dist", "build"})
_MAX_FOLDERS = 4000
_MAX_FROZEN = 200
_SHARED_TEMP = Path("/tmp")


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a sandbox can be had at all; `reason` says why not."""

    available: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class InForce:
    """What holds a shell. Without namespaces there is no network of its own (no sockets at all instead), and protected
    names inside the workspace can be written; `why` says what the kernel refused. `temp` is where the
    shell sees its own folder."""

    landlock: int
    namespaces: bool
    why: str = ""
    temp: str = ""

    def gaps(self) -> tuple[str, ...]:
        """What does not hold here, in words."""
        gaps = []
        if not self.namespaces:
            gaps.append(f"git's files and other protected names in the workspace can be written ({self.why})")
            gaps.append("permissions and times of files outside can be changed where the user may change them")
        if self.landlock < 3:
            gaps.append("files outside can be cut short (Landlock before version 3)")
        if self.landlock < 6:
            gaps.append("signals to other processes are not held back (Landlock before version 6)")
        return tuple(gaps)


def support() -> Support:
    """What the machine offers, without trying it."""
    if sys.platform != "linux":
        return Support(False, f"there is no sandbox for {sys.platform}")
    if landlock_version() < 1:
        return Support(False, "this kernel has no Landlock, or has it switched off")
    if not filters_system_calls():
        return Support(False, f"the system calls of {os.uname().machine} are not known")
    return Support(True)


@cache
def probe() -> InForce | str:
    """What a sandbox holds on this machine, by making one; or why there is none. Starts a process: call it on a
    thread."""
    if not (has := support()).available:
        return has.reason
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("launcher.py")), "--probe"],
            capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return "the sandbox could not be tried out"
    return InForce(**answer) if isinstance(answer, dict) else str(answer)


@dataclass(frozen=True)
class Sandbox:
    """A workspace's sandbox: commands write below `roots` and in their own temporary folder; `protected` says of a path
    relative to a root whether it stays read-only; `readable` are further folders that they may read."""

    roots: tuple[Path, ...]
    environ: Mapping[str, str]
    protected: Callable[[str], bool]
    readable: tuple[Path, ...] = ()

    def hides_temp(self) -> bool:
        """Whether `/tmp` can be the shell's own folder: nothing that it needs may lie there."""
        return not any(
            _overlaps(path, _SHARED_TEMP) for path in (*self.roots, *self.readable, *map(Path, self._tools()))
        )

    def described(self, temp: Path) -> dict[str, Any]:
        """For the launcher. `temp` is a folder of the shell's own. Looks at the disk: call it on a thread."""
        table = _table()
        home = Path(os.path.realpath(self.environ.get("HOME") or "/nonexistent"))
        read = [*_expanded(table["read"], home), *_children(table["children_of"]), *self._tools()]
        return {
            "rules": {
                "read": [*(path for path in read if not _opens_too_much(path, home)), *map(str, self.readable)],
                "write": [*map(str, self.roots)],
                "device": table["device"],
            },
            "temp": str(temp),
            "hides": self.hides_temp(),
            "frozen": [str(path) for path in self.frozen()],
        }

    def frozen(self) -> list[Path]:
        """What exists of the protected names below the roots: the top ones of nested ones."""
        found: list[Path] = []
        for root in self.roots:
            found.extend(_protected_below(root, self.protected))
        return found[:_MAX_FROZEN]

    def _tools(self) -> list[str]:
        """Folders on PATH outside the usual places, and what stands beside a `bin`."""
        places = [sys.prefix, sys.base_prefix]
        for entry in self.environ.get("PATH", "").split(os.pathsep):
            if not os.path.isabs(entry) or not os.path.isdir(entry):
                continue
            real = os.path.realpath(entry)
            places.append(real)
            if os.path.basename(real) in ("bin", "sbin", "Scripts"):
                places.append(os.path.dirname(real))
        return list(dict.fromkeys(os.path.realpath(place) for place in places))


def _opens_too_much(path: str, home: Path) -> bool:
    """A tool folder that is the home folder, one above it, or the user's own data would open all secrets."""
    closed = (home, home / ".local", home / ".config", home / ".cargo", home / ".cache", home / ".local/share")
    return any(one.is_relative_to(path) for one in closed) or path == "/"


def _overlaps(path: Path, other: Path) -> bool:
    return path.is_relative_to(other) or other.is_relative_to(path)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("sandbox.toml").read_text("utf-8"))


def _expanded(paths: Sequence[str], home: Path) -> Iterator[str]:
    for path in paths:
        yield str(home / path[2:]) if path.startswith("~/") else path


def _children(table: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    for folder, row in table.items():
        closed = {name.partition("/")[0] for name in row["except"]}
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            inner = [one.partition("/")[2] for one in row["except"] if one.startswith(f"{name}/")]
            if inner:
                yield from _children({f"{folder}/{name}": {"except": inner}})
            elif name not in closed:
                yield f"{folder}/{name}"


def _protected_below(root: Path, protected: Callable[[str], bool]) -> Iterator[Path]:
    for seen, (folder, names, names_of_files) in enumerate(os.walk(root)):
        if seen > _MAX_FOLDERS:
            return
        here = Path(folder)
        for name in [*names, *names_of_files]:
            path = here / name
            if protected(path.relative_to(root).as_posix()):
                if name in names:
                    names.remove(name)
                yield path
        names[:] = [name for name in names if name not in _SKIPPED]
