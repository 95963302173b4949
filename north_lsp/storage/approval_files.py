"""The files of a project's permissions: one of the user's own, and two in the project's `.north`, for all to read."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from north_lsp.storage.files import (
    MAX_CONFIG_BYTES,
    json_bytes,
    private_directory,
    read_json,
    set_aside,
    short_lock,
    write_atomic,
)
from north_lsp.storage.locations import Locations

Content = dict[str, Any]
Name = Literal["own", "allowlist", "autoaccept"]
Step = tuple[Name, Callable[[Content], None]]
"""A change of one file's content."""

_VERSION = 1
_LISTS: dict[Name, tuple[str, ...]] = {"own": (), "allowlist": ("allowedCommands", "rules"), "autoaccept": ()}
_RECORDS: dict[Name, tuple[str, ...]] = {
    "own": ("allowed", "rules", "mcpAllowed", "hostsAllowed"),
    "allowlist": (),
    "autoaccept": (),
}


class ApprovalFiles:
    """The permission files of one project, read again each time."""

    def __init__(self, locations: Locations, project_hash: str, root: Path) -> None:
        self._locations = locations
        self._lock_name = f"approvals-{project_hash}"
        self._own_folder = locations.project(project_hash)
        self._folder = root / ".north"
        self._aside: Path | None = None

    def take_aside(self) -> Path | None:
        """Return, once, where a file was moved that could not be read."""
        aside, self._aside = self._aside, None
        return aside

    def read(self, name: Name) -> Content:
        """Return a file's content; empty if it is missing, unreadable or of a newer version."""
        content = self._valid(name) or {}
        return content if content.get("version", _VERSION) == _VERSION else {}

    def change(self, *steps: Step) -> None:
        """Change files in this order, under one lock. Raises OSError; then the ones before have changed."""
        with short_lock(self._locations, self._lock_name):
            for name, change in steps:
                self._change(name, change)

    def _path(self, name: Name) -> Path:
        return self._own_folder / "approvals.json" if name == "own" else self._folder / f"{name}.json"

    def _valid(self, name: Name) -> Content | None:
        try:
            content = read_json(self._path(name), MAX_CONFIG_BYTES)
        except (OSError, ValueError):
            return None
        if not isinstance(content, dict):
            return None
        fits = all(isinstance(content.get(key, []), list) for key in _LISTS[name])
        return content if fits and all(isinstance(content.get(key, {}), dict) for key in _RECORDS[name]) else None

    def _change(self, name: Name, change: Callable[[Content], None]) -> None:
        """Read, change and replace a file; one that cannot be read is set aside first."""
        path, ours = self._path(name), name == "own"
        if ours:
            private_directory(path.parent)
        else:
            with suppress(FileExistsError):
                self._folder.mkdir()
            if self._folder.is_symlink():
                raise OSError(errno.ELOOP, "a link, and North does not write through links", str(self._folder))
        content: Content = {"version": _VERSION} if ours else {}
        if os.path.lexists(path):
            if (read := self._valid(name)) is not None:
                content = read
            else:
                self._aside = set_aside(path)
        if isinstance(version := content.get("version"), int) and version > _VERSION:
            raise OSError(errno.EROFS, "a newer North wrote it", str(path))
        change(content)
        # A link is replaced, not followed: it could lead anywhere.
        write_atomic(path, json_bytes(content), 0o600 if ours else 0o666)


def rows(content: Content, key: str) -> list[Any]:
    """Return a list in a file's content; empty without one."""
    found = content.get(key, [])
    return list(found) if isinstance(found, list) else []


def record(content: Content, key: str) -> dict[str, object]:
    """Return an object in a file's content; empty without one."""
    found = content.get(key, {})
    return dict(found) if isinstance(found, dict) else {}
