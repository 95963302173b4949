"""What is remembered of each project's folder, so that its conversations are found again when the folder has moved:
`<data>/projects/<hash>/folder.json`. Knows nothing of git."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import json_bytes, private_directory, read_json, write_atomic
from north_lsp.storage.locations import Locations

_VERSION = 1
_DAY = 24 * 60 * 60.0
_ENOUGH_FILES = 3


@dataclass(frozen=True)
class Identity:
    """What tells a folder from others, wherever it is: its repository's first commit, the address that it is pushed to,
    its place in the repository, and the digests of files in it, by name. All may be unknown."""

    commit: str | None = None
    remote: str | None = None
    place: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_vague(self) -> bool:
        """Whether too little is known to tell the folder from others."""
        return not self.commit and not self.remote and len(self.files) < _ENOUGH_FILES

    def same_as(self, other: Identity) -> str | None:
        """Return in words why the two are one folder in two places; None if that cannot be said."""
        if self.commit and other.commit:
            agree = self.remote is None or other.remote is None or self.remote == other.remote
            return (
                "it has the same git history"
                if (self.commit, agree) == (other.commit, True) and (self.place == other.place)
                else None
            )
        if self.remote and other.remote:
            agree = (self.remote, self.place) == (other.remote, other.place)
            return f"it is pushed to the same place, {self.remote}" if agree else None
        if self.commit or other.commit:
            return None
        same = [name for name, digest in self.files.items() if other.files.get(name) == digest]
        named = ", ".join(sorted(same)[:_ENOUGH_FILES])
        return f"it has the same files ({named} …)" if len(same) >= _ENOUGH_FILES else None


@dataclass(frozen=True)
class Project:
    """A folder that North knows; `declined` are the hashes of former folders that the user said it is not."""

    hash: str
    root: Path
    identity: Identity
    declined: tuple[str, ...] = ()


def read_project(locations: Locations, hash: str) -> Project | None:
    """Return what is remembered of a project; None if nothing is, or it cannot be read."""
    try:
        match read_json(_file(locations, hash)):
            case {"version": 1, "root": str(root), **more}:
                return Project(hash, Path(root), _identity(more), tuple(map(str, _list(more.get("declined")))))
    except (OSError, ValueError):
        pass
    return None


def is_fresh(locations: Locations, project: Project) -> bool:
    """Tell whether a project was looked at within a day."""
    with suppress(OSError):
        return time.time() - _file(locations, project.hash).stat().st_mtime < _DAY
    return False


def write_project(locations: Locations, project: Project) -> None:
    """Remember a project. Raises OSError."""
    path = _file(locations, project.hash)
    private_directory(path.parent)
    known = asdict(project.identity)
    row = {"version": _VERSION, "root": str(project.root), **known, "declined": list(project.declined)}
    write_atomic(path, json_bytes(row))


def decline(locations: Locations, hash: str, former: str) -> None:
    """Remember that a project is not that former folder. Raises OSError."""
    project = read_project(locations, hash)
    if project is not None and former not in project.declined:
        write_project(locations, replace(project, declined=(*project.declined, former)))


def other_projects(locations: Locations, hash: str) -> Iterator[Project]:
    """Yield all other projects that are remembered."""
    with suppress(OSError), os.scandir(locations.data / "projects") as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        for name in names:
            if name != hash and (project := read_project(locations, name)) is not None:
                yield project


def _file(locations: Locations, hash: str) -> Path:
    return locations.project(hash) / "folder.json"


def _identity(row: Mapping[Any, Any]) -> Identity:
    commit, remote, place, files = (row.get(key) for key in ("commit", "remote", "place", "files"))
    return Identity(
        commit if isinstance(commit, str) else None,
        remote if isinstance(remote, str) else None,
        place if isinstance(place, str) else "",
        {str(name): str(digest) for name, digest in files.items()} if isinstance(files, dict) else {},
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
