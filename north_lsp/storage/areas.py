"""What North keeps, by area: how much it is, and what frees it. And removing it, as the user asks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.conversation_index import ConversationIndex, Wanted
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.listing import is_open
from north_lsp.storage.locations import Locations
from north_lsp.storage.sizes import measure

Scope = Literal["spare", "project", "all"]
"""What to remove: what North can do without, all about one project, or everything."""

_DATA = ("conversations", "blobs", "projects", "memories", "plugins", "python-env")
_DATA_FILES = ("costs.json", "config.last-good.json", "mcp-cache.json", "mcp-tools.json")
_STATE = ("locks", "windows", "worktrees", "crash", "tmp", "mcp")
_CACHES = ("models-cache.db", "search.db", "mcp-cache.json")
_DATABASE = lazy_pattern(r"[a-z-]+\.db(?:-wal|-shm)?")
_LOG = lazy_pattern(r"north\.log(?:\.\d+)?")
_ASIDE = lazy_pattern(r".+\.bad-\d{8}T\d{6}Z(?:-\d+)?")
_PURGE = "`north-lsp purge`"


@dataclass(frozen=True)
class Area:
    """A part of what is kept: how many bytes and files, and how it is freed."""

    id: str
    title: str
    size: int
    count: int
    freed_by: str


@dataclass(frozen=True)
class Removal:
    """What would be removed, with how many bytes each has; `held` names conversations that a process has open, which
    stay. `unknown` is what is not North's own, and stays, too."""

    paths: tuple[tuple[Path, int], ...]
    held: tuple[str, ...] = ()
    unknown: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        return sum(size for _, size in self.paths)


def areas(locations: Locations) -> list[Area]:
    """Measure all areas that have something, the largest first. Blocks; as long as there are files."""
    conversations, data, state = locations.conversations, locations.data, locations.state
    names = _children(conversations)
    ids = [path for path in names if path.is_dir() and valid_conversation_id(path.name) and path.name != "trash"]
    logs = [path for path in names if path.is_file()]
    databases = [path for path in _children(data) if _DATABASE.fullmatch(path.name)]
    keys = [path for path in databases if path.name.startswith("agent.db")]
    caches = [path for path in _children(data) if path.name.partition("-wal")[0].partition("-shm")[0] in _CACHES]
    others = [path for path in databases if path not in keys and path not in caches]
    found = [
        _area("conversations", "conversations", logs, "deleting them, or the setting `sessions.maxAgeDays`"),
        _area("outputs", "full outputs of commands", ids, "with their conversations; `limits.artifactsMb` bounds them"),
        _area("contents", "pictures, and files before edits", [locations.blobs], _BLOBS),
        _area("trash", "deleted conversations", [conversations / "trash"], f"itself after 30 days, or {_PURGE}"),
        _area("projects", "approvals and jobs of projects", [data / "projects"], "`north-lsp purge --project`"),
        _area("keys", "stored keys", keys, "`north-lsp logout`"),
        _area("databases", "history and memory", [*others, data / "memories"], "`north-lsp purge --all`"),
        _area("caches", "caches", caches, _PURGE),
        _area("log", "log files", [path for path in _children(state) if _LOG.fullmatch(path.name)], _LOGS),
        _area("crashes", "crash reports", [locations.crashes], f"itself after 30 days, or {_PURGE}"),
        _area("aside", "files that could not be read", _set_aside(locations), _PURGE),
    ]
    return sorted((area for area in found if area.count), key=lambda area: -area.size)


_BLOBS = "itself, a week after the last conversation that needs them is gone"
_LOGS = f"{_PURGE}; `log.maxBytes` and `log.files` bound them"


def removal(locations: Locations, scope: Scope, repo_hash: str = "") -> Removal:
    """Return what would be removed. Blocks."""
    match scope:
        case "spare":
            trash = _children(locations.conversations / "trash")
            caches = [locations.data / name for name in _with_logs(_CACHES)]
            logs = [path for path in _children(locations.state) if _LOG.fullmatch(path.name)]
            index = [locations.state / "housekeeping.db"]
            return _of([*trash, *caches, *logs, *index, *_children(locations.crashes), *_set_aside(locations)])
        case "project":
            rows = ConversationIndex(locations).listed(Wanted(repo_hash, with_empty=True))
            held = [row.id for row in rows if is_open(locations, row.id)]
            ids = {row.id for row in rows} - set(held)
            own = [path for path in _children(locations.conversations) if path.name.partition(".")[0] in ids]
            kept = [locations.project(repo_hash), locations.data / "memories" / repo_hash]
            return _of([*own, *([] if held else kept)], held)
        case "all":
            logs = [path for path in _children(locations.conversations) if path.suffix == ".jsonl"]
            held = [path.stem for path in logs if is_open(locations, path.stem)]
            data = [path for path in _children(locations.data) if _is_ours(path)]
            state = [path for path in _children(locations.state) if _is_ours_of_state(path)]
            unknown = {*_children(locations.data), *_children(locations.state)} - {*data, *state}
            # Where both folders are one, or one is in the other, nothing else may be taken for it.
            bases = {locations.data, locations.state, locations.config}
            return _of([*data, *state], held, sorted(unknown - bases))


def remove(removal: Removal) -> list[tuple[Path, str]]:
    """Remove everything; return what could not be, and why. Links are removed, not followed. Blocks."""
    failed: list[tuple[Path, str]] = []
    for path, _ in removal.paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            failed.append((path, error.strerror or str(error)))
    return failed


def human(size: int) -> str:
    """Format a number of bytes for people."""
    amount, units = float(size), ["bytes", "KB", "MB", "GB", "TB"]
    while amount >= 1000 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.0f} {units[0]}" if units[0] == "bytes" or amount >= 10 else f"{amount:.1f} {units[0]}"


def _area(id: str, title: str, paths: Iterable[Path], freed_by: str) -> Area:
    measured = [measure(path) for path in paths]
    return Area(id, title, sum(one.size for one in measured), sum(one.files for one in measured), freed_by)


def _of(paths: Iterable[Path], held: Iterable[str] = (), unknown: Iterable[Path] = ()) -> Removal:
    there = [(path, measure(path).size) for path in paths if os.path.lexists(path)]
    return Removal(tuple(there), tuple(held), tuple(unknown))


def _set_aside(locations: Locations) -> list[Path]:
    folders = (locations.data, locations.conversations, *_children(locations.data / "projects"))
    return [path for folder in folders for path in _children(folder) if _ASIDE.fullmatch(path.name)]


def _with_logs(names: Iterable[str]) -> list[str]:
    return [name + ending for name in names for ending in ("", "-wal", "-shm")]


def _is_ours(path: Path) -> bool:
    name = path.name
    return name in _DATA or name in _DATA_FILES or bool(_DATABASE.fullmatch(name) or _ASIDE.fullmatch(name))


def _is_ours_of_state(path: Path) -> bool:
    return path.name in _STATE or bool(_LOG.fullmatch(path.name) or path.name.startswith("housekeeping.db"))


def _children(folder: Path) -> list[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted(Path(entry.path) for entry in entries)
    return []
