"""Decides what a sandboxed command may touch, and whether this machine can enforce that: Linux with Landlock and
namespaces (`launcher.py`), macOS with Seatbelt (`seatbelt.py`)."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.seatbelt import command_prefix, held_by, profile_of
from north_lsp.shell.spawning import LAUNCHER, as_input

_SYSTEM = sys.platform
_SHARED_TEMP = Path("/tmp")
_NEW_NAMES = (
    "the shell in the sandbox was ended, since the workspace has new protected or closed names, which on macOS only a "
    "new sandbox holds"
)


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a sandbox is available at all; `reason` says why not."""

    available: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ActiveRestrictions:
    """The restrictions of a shell, by Landlock or by `seatbelt`. Without namespaces Landlock leaves it no network of
    its own (instead it has no sockets at all), and protected names inside the workspace can be written; `why` says what
    the kernel refused. `temp` is where the shell sees its own folder."""

    landlock: int
    namespaces: bool
    why: str = ""
    temp: str = ""
    seatbelt: bool = False

    @property
    def holds(self) -> bool:
        """Whether protected and closed names are held."""
        return self.namespaces or self.seatbelt

    def gaps(self) -> tuple[str, ...]:
        """Describe what the sandbox does not prevent on this machine."""
        if self.seatbelt:
            return ()
        gaps = []
        if not self.namespaces:
            gaps.append(f"git's files and other protected names in the workspace can be written ({self.why})")
            gaps.append("permissions and times of files outside can be changed where the user may change them")
        if self.landlock < 3:
            gaps.append("files outside can be truncated (Landlock before version 3)")
        if self.landlock < 6:
            gaps.append("signals to other processes are not blocked (Landlock before version 6)")
        return tuple(gaps)


def support() -> Support:
    """Return what the machine supports, without trying it. On macOS, only `probe` can tell."""
    if _SYSTEM == "darwin":
        return _tried_out.get("seatbelt", Support(False, "it was not tried out yet"))
    if _SYSTEM != "linux":
        return Support(False, f"there is no sandbox for {_SYSTEM}")
    from north_lsp.shell.launcher import filters_system_calls, landlock_version

    if landlock_version() < 1:
        return Support(False, "this kernel has no Landlock, or has it switched off")
    if not filters_system_calls():
        return Support(False, f"the system calls of {platform.machine()} are not known")
    return Support(True)


_tried_out: dict[str, Support] = {}


@cache
def probe() -> ActiveRestrictions | str:
    """Return which restrictions a sandbox has on this machine, by making one, or why there is none. Starts a process:
    call it on a thread."""
    if _SYSTEM == "darwin":
        problem = _try_seatbelt()
        _tried_out["seatbelt"] = Support(not problem, problem)
        return problem or ActiveRestrictions(0, namespaces=False, seatbelt=True)
    if not (has := support()).available:
        return has.reason
    try:
        done = subprocess.run(
            [*LAUNCHER, "--probe"],
            capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return "the sandbox could not be tested"
    return ActiveRestrictions(**answer) if isinstance(answer, dict) else str(answer)


def _try_seatbelt() -> str:
    """Run a program in a sandbox as commands get it. Returns what is wrong with it, empty if it holds."""
    from north_lsp.shell.seatbelt_probe import try_out

    def prefix(root: Path, temp: Path, held: Held) -> Sequence[str]:
        made: list[str] = Sandbox((root,), os.environ, lambda: held).described(temp)["prefix"]
        return made

    return try_out(prefix)


class Held(Protocol):
    """What the sandbox protects in the workspace, by real paths with device and number: `protected` names stay as they
    are, `frozen` is what must be read-only for that, except for the folders `open` in it, and `hidden` is closed.
    `problem` says why this cannot be relied on. `folders` could be searched, the `unreadable` ones could not."""

    @property
    def protected(self) -> Mapping[str, tuple[int, int]]: ...

    @property
    def frozen(self) -> Mapping[str, tuple[int, int]]: ...

    @property
    def hidden(self) -> Mapping[str, tuple[int, int]]: ...

    @property
    def open(self) -> tuple[str, ...]: ...

    @property
    def problem(self) -> str: ...

    @property
    def folders(self) -> Collection[str]: ...

    @property
    def unreadable(self) -> Collection[str]: ...


@dataclass(frozen=True)
class Sandbox:
    """A workspace's sandbox. Commands write below `roots` and in their own temporary folder; `look` returns what is
    protected there; `readable` are further folders that they may read. `for_asked`: commands that the user was asked
    about run in it as well. What must not appear in the workspace is put into `quarantine`."""

    roots: tuple[Path, ...]
    environ: Mapping[str, str]
    look: Callable[[], Held]
    readable: tuple[Path, ...] = ()
    for_asked: bool = True
    quarantine: Path | None = None

    def hides_temp(self) -> bool:
        """Return whether the shell's own folder can be mounted as `/tmp`: nothing that it needs may be there."""
        return _SYSTEM != "darwin" and not any(
            _overlaps(path, _SHARED_TEMP)
            for path in (*self.roots, *self.readable, *map(Path, self._tools(self._home())))
        )

    def described(self, temp: Path, *, needs: bool = False) -> dict[str, Any]:
        """Describe the sandbox for the launcher. `temp` is the shell's own folder; with `needs` the shell does not
        start if protected and closed names cannot be held. Looks at the disk: call it on a thread. Raises ToolError."""
        held = self.look()
        if held.problem:
            raise ToolError("UNAVAILABLE", f"the sandbox cannot protect the workspace: {held.problem}")
        table = _table()["macos"] if _SYSTEM == "darwin" else _table()
        home = self._home()
        read = [*_expanded(table["read"], home), *_children(table["children_of"]), *self._tools(home)]
        described = {
            "rules": {
                "read": [*(path for path in read if not _opens_too_much(path, home)), *map(str, self.readable)],
                "write": [*map(str, self.roots)],
                "device": table["device"],
            },
            "temp": str(temp),
            "hides": self.hides_temp(),
            "frozen": dict(held.frozen),
            "hidden": dict(held.hidden),
            "open": list(held.open),
            "needs": needs,
        }
        if _SYSTEM == "darwin":
            described = _spelled(described)
            described["prefix"] = command_prefix(profile_of(described))
        return described

    def _home(self) -> Path:
        return Path(systems.true_path(self.environ.get("HOME") or "/nonexistent"))

    def _tools(self, home: Path) -> list[str]:
        """Return the folders on PATH and of Python, and the parents of those that are called `bin` or the like. In the
        home folder, where programs keep their credentials in such a parent, only the named entries of it."""
        places = [sys.prefix, sys.base_prefix]
        for entry in self.environ.get("PATH", "").split(os.pathsep):
            if not os.path.isabs(entry) or not os.path.isdir(entry):
                continue
            real = systems.true_path(entry)
            places.append(real)
            if os.path.basename(real) not in ("bin", "sbin", "Scripts"):
                continue
            parent = os.path.dirname(real)
            if not Path(parent).is_relative_to(home):
                places.append(parent)
            elif not _opens_too_much(parent, home):
                beside = (os.path.join(parent, name) for name in _table()["beside_programs"])
                places += [path for path in beside if os.path.exists(path)]
        return list(dict.fromkeys(systems.true_path(place) for place in places))


def _opens_too_much(path: str, home: Path) -> bool:
    """Return whether a tool folder must stay closed: the home folder, one above it, or the user's own data would open
    all secrets."""
    closed = (
        home, home / ".local", home / ".config", home / ".cargo", home / ".cache", home / ".local/share",
        home / "Library", home / "Library/Application Support", home / "Library/Caches",
    )  # fmt: skip
    return any(one.is_relative_to(path) for one in closed) or path == "/"


def _overlaps(path: Path, other: Path) -> bool:
    return path.is_relative_to(other) or other.is_relative_to(path)


def _spelled(described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description with its paths as the kernel of macOS names them. What is refused is refused by the name
    that it was given, too."""
    rules = {kind: [systems.true_path(path) for path in paths] for kind, paths in described["rules"].items()}
    refused = {
        kind: {**described[kind], **{systems.true_path(path): ident for path, ident in described[kind].items()}}
        for kind in ("frozen", "hidden")
    }
    opened = [systems.true_path(path) for path in described["open"]]
    return {**described, **refused, "rules": rules, "open": opened, "temp": systems.true_path(described["temp"])}


@cache
def _table() -> dict[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("sandbox.toml").read_text("utf-8"))


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


def hold_more(pid: int, held: Held, described: dict[str, Any], roots: Sequence[Path]) -> str:
    """Make the sandbox of a running shell hold what it does not hold yet. Returns what went wrong, empty if nothing
    did; `described` is the description that the sandbox was made from, and is updated. Starts a process: call it on a
    thread."""
    if "prefix" in described:
        return "" if held_by(described, held.frozen, held.hidden) else _NEW_NAMES
    frozen = {path: ident for path, ident in held.frozen.items() if described["frozen"].get(path) != ident}
    hidden = {path: ident for path, ident in held.hidden.items() if described["hidden"].get(path) != ident}
    if not frozen and not hidden:
        return ""
    config = {"pid": pid, "frozen": frozen, "hidden": hidden, "around": [*map(str, roots), str(described["temp"])]}
    try:
        with as_input(config) as given:
            done = subprocess.run(
                [*LAUNCHER, "--hold"],
                stdin=given, capture_output=True, timeout=10, check=False, text=True,
            )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode != 0 or done.stdout:
        return done.stdout or "it could not be reached"
    described |= {"frozen": dict(held.frozen), "hidden": dict(held.hidden)}
    return ""
