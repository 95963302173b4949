"""Where North keeps its files: three base directories, each movable by an environment variable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Locations:
    """The base directories: what the user writes, what North keeps, and what may be deleted. Nothing is created."""

    config: Path
    data: Path
    state: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Locations:
        """Read the environment. Raises ValueError naming a variable whose value is not an absolute path."""
        home = systems.home(environ)
        config, data, state = systems.own_folders(environ)
        return cls(
            _override(environ, "NORTH_CONFIG_DIR", home, config),
            _override(environ, "NORTH_DATA_DIR", home, data),
            _override(environ, "NORTH_STATE_DIR", home, state),
        )

    @property
    def conversations(self) -> Path:
        return self.data / "conversations"

    @property
    def index(self) -> Path:
        """The database with the index of all conversations and the words in them."""
        return self.data / "search.db"

    @property
    def blobs(self) -> Path:
        return self.data / "blobs"

    @property
    def log_file(self) -> Path:
        return self.state / "north.log"

    def last_good(self, name: str) -> Path:
        """Return where the settings file of that name is kept as it was when it could last be read."""
        stem, _, suffix = name.rpartition(".")
        return self.data / f"{stem}.last-good.{suffix}"

    @property
    def crashes(self) -> Path:
        return self.state / "crash"

    @property
    def temporary(self) -> Path:
        """What is emptied once a day, of what is older than that."""
        return self.state / "tmp"

    @property
    def server_folders(self) -> Path:
        """Where MCP servers run that are not started in a project: an empty folder for each."""
        return self.state / "mcp"

    @property
    def work_trees(self) -> Path:
        """Where agents work in git work trees of their own."""
        return self.state / "worktrees"

    @property
    def locks(self) -> Path:
        return self.state / "locks"

    def project(self, hash: str) -> Path:
        """Return the folder of what North keeps about one project, by the hash of its root."""
        return self.data / "projects" / hash

    def journals(self, hash: str) -> Path:
        """Return the folder of the journals of writes to a project, in case one is interrupted."""
        return self.project(hash) / "journals"

    def detached_jobs(self, hash: str) -> Path:
        """Return the folder of the records of a project's detached jobs."""
        return self.project(hash) / "jobs"

    def quarantine(self, hash: str) -> Path:
        """Return the folder for protected names that commands in the sandbox made in a project."""
        return self.project(hash) / "quarantine"


def _override(environ: Mapping[str, str], variable: str, home: Path, default: Path) -> Path:
    value = environ.get(variable)
    if not value:
        return default
    path = (
        home / value[2:] if value == "~" or value.startswith(("~/", f"~{os.sep}")) else Path(os.path.expanduser(value))
    )
    if not path.is_absolute():
        raise ValueError(f"{variable} must be an absolute path, not {value!r}")
    return path
