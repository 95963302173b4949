"""A world for one test: a project copied from sources that are not North's, folders of its own, the real server."""

import json
import os
import stat
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support import warm_run, warm_server

COLD_SERVER = [str(Path(sys.executable).with_name("north-lsp"))]
"""As a user starts it."""

WARM_SERVER = Path(warm_server.__file__)
WARM = "TESTS_WARM"
"""The environment variable that names the socket of the warm server, if another process keeps it."""
WARM_SOCKET = Path(os.environ.get(WARM) or f"{tempfile.gettempdir()}/north-tests-{os.getpid()}.socket")

SERVER = [sys.executable, "-I", "-S", warm_run.__file__, str(WARM_SOCKET)]
"""The same server, from a process that has done the imports (`tests/conftest.py`)."""


PACE: dict[str, object] = {"retry.baseDelayMs": 8, "mcp.startupWaitMs": 60_000}
"""Settings of time that no test means unless it sets them: real delays are seconds, which are shown where they are
computed; and how busy the machine is must not decide whether a server's tools are there."""


@cache
def _real_files() -> tuple[tuple[str, bytes, os.stat_result], ...]:
    """Some 40 sources of the standard library, read once: hundreds of tests get a copy."""
    library = Path(sysconfig.get_path("stdlib"))
    return tuple(
        (path.relative_to(library).as_posix(), path.read_bytes(), path.stat())
        for package in ("json", "email", "http")
        for path in sorted((library / package).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    )


@cache
def _real_folders() -> tuple[str, ...]:
    return tuple(sorted({name.rpartition("/")[0] for name, _, _ in _real_files()}))


def copy_real_project(target: Path) -> Path:
    """A part of the standard library, as a project: real sources of some 20 files."""
    top = os.fspath(target)
    for folder in _real_folders():
        os.makedirs(f"{top}/{folder}", exist_ok=True)
    for name, data, status in _real_files():
        path = f"{top}/{name}"
        with open(path, "wb", buffering=0) as file:
            file.write(data)
            os.fchmod(file.fileno(), stat.S_IMODE(status.st_mode))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return target


@dataclass(frozen=True)
class World:
    """`environ` isolates the server; `url` is the model server's address, or None for the offline model. `server` is
    how it is started."""

    folder: Path
    url: str | None = None
    server: tuple[str, ...] = tuple(SERVER)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def environ(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("NORTH_", "ANTHROPIC_", "OPENAI_"))
        }
        model = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": self.url} if self.url is not None else {}
        folders = {f"NORTH_{name}_DIR": str(self.folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
        return (
            kept
            | model
            | folders
            | {"HOME": str(self.folder / "home"), "NORTH_DISCOVERY": "off"}
            | {"NORTH_NO_TITLE": "1", "NORTH_NO_OFFER": "1"}
        )

    def log_entries(self) -> list[str]:
        """The lines of all conversations' logs."""
        return [
            line for path in sorted(self.data.glob("conversations/*.jsonl")) for line in path.read_text().splitlines()
        ]


def make_world(folder: Path, url: str | None = None) -> World:
    world = World(folder.resolve(), url)
    (world.folder / "home").mkdir(parents=True)
    (world.folder / "config").mkdir()
    (world.folder / "config" / "config.json").write_text(json.dumps(PACE))
    copy_real_project(world.project)
    return world
