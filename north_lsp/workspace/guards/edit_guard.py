"""Decides whether a set of changes may be written, judged as a whole on the disk as it will be: by the names of the
files, by all other names that they have, and by what refers to them. If that cannot be determined, the user is
asked."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.guards.after_changes import After, content_before
from north_lsp.workspace.guards.aliases import Links, path_aliases
from north_lsp.workspace.guards.protected import edit_rule, folded
from north_lsp.workspace.guards.repositories import Named, looks_like_repository, named_by_git, own_folders
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange

_LIFECYCLE = lazy_pattern(r"^(pre|post)?(install|prepare|publish|pack|uninstall)$|^prepublishOnly$|^dependencies$")
_HOOK_TABLES = ("simple-git-hooks", "husky", "gitHooks", "lint-staged", "pre-commit", "ghooks")
_START_FILES = (
    *(".envrc", ".pre-commit-config.yaml", ".pre-commit-config.yml", ".gitpod.yml", ".mcp.json"),
    *("lefthook.yml", "lefthook.yaml", "lefthook-local.yml", ".lefthook.yml"),
    *(".devcontainer.json", ".devcontainer/devcontainer.json", ".vscode/settings.json", ".vscode/mcp.json"),
    *(".claude/settings.json", ".claude/settings.local.json", ".cursor/hooks.json", ".gemini/settings.json"),
    ".codex/config.toml",
)
_ON_OPENING = (".vscode/tasks.json", b"folderOpen")
_MODULES = ("index", "__main__", "__init__", "main", "default")
_WRITE_BITS = 0o222
_MOST_NESTED = 64


@dataclass(frozen=True, slots=True)
class _Place:
    """A path that a change touches, with the name by which people know it."""

    path: Path
    shown: str
    root: Path


def refusal(changes: Sequence[FileChange], roots: Roots, private: Sequence[Path] = ()) -> str | None:
    """Say why the changes must never be written by a tool; None if they may be written, perhaps after asking.
    Raises ToolError IO_ERROR if the disk cannot be read."""
    states = [_Repositories(After(())), _Repositories(After(changes))]
    own = [_parts(Path(os.path.realpath(one))) for one in private]
    try:
        for place in _places(changes, roots):
            if place is None:
                return "a path of the edit is outside the workspace"
            parts = _parts(place.path) if own else ()
            if any(parts[: len(one)] == one for one in own):
                return f"{place.shown} belongs to North itself and is never written by tools"
            relative = place.path.relative_to(place.root).as_posix()
            rule, reason = edit_rule([relative], tuple)
            if rule == "never":
                return f"{place.shown} is protected ({reason}) and never written by tools"
            if any(state.has(place) for state in states):
                return f"{place.shown} is, or would become, one of git's own files, which are never written by tools"
    except OSError as error:
        raise ToolError(
            "IO_ERROR", f"cannot determine what the edit would change: {error.strerror or error}"
        ) from error
    return None


def refuse(changes: Sequence[FileChange], roots: Roots, private: Sequence[Path] = ()) -> None:
    """Raise ToolError OUTSIDE_WORKSPACE for what is never written."""
    if (why := refusal(changes, roots, private)) is not None:
        raise ToolError("OUTSIDE_WORKSPACE", f"{why}; nothing was written")


def questions(changes: Sequence[FileChange], trees: Trees, raw_path: Iterable[str] = ()) -> list[str]:
    """Say why the user is asked about the changes, whatever was allowed before; `raw_path` are the paths as the model
    wrote them. Raises ToolError: OUTSIDE_WORKSPACE for another name of what is never written, IO_ERROR."""
    after = After(changes)
    places = [place for place in _places(changes, trees.roots) if place is not None]
    found: list[str] = []
    try:
        links = Links(trees, [place.path for place in places])
        names = {place.path: links.names(place.path) for place in places}
        for one in raw_path:
            with suppress(ToolError):
                resolved = trees.roots.resolve(one)
                names.get(resolved.path, set()).update(path_aliases(resolved, trees.roots))
        naming = _Naming(after)
        nested = _nested(trees)
        for place in places:
            why = _question(place, names[place.path], nested, naming)
            if why is not None:
                found.append(f"{place.shown} {why}, so North asks every time")
    except OSError as error:
        raise ToolError(
            "IO_ERROR", f"cannot determine what the edit would change: {error.strerror or error}"
        ) from error
    return list(dict.fromkeys(found))


class _Naming:
    """What names files that something runs, by folder: looked for once, and on the disk as it will be."""

    def __init__(self, after: After) -> None:
        self.after = after
        self._by_git: dict[Path, Named | None] = {}
        self._by_package: dict[Path, Named | None] = {}
        self._by_start_files: dict[Path, Named] = {}

    def by_git(self, folder: Path) -> Named | None:
        """Return what git's configuration for a folder names; None if that cannot be determined."""
        if folder not in self._by_git:
            self._by_git[folder] = named_by_git(folder)
        return self._by_git[folder]

    def by_package(self, folder: Path) -> Named | None:
        """Return what a folder's `package.json` runs; None if there is none."""
        if folder not in self._by_package:
            self._by_package[folder] = _named_by_package(folder, self.after)
        return self._by_package[folder]

    def by_start_files(self, folder: Path) -> Named:
        """Return what a folder's files name from which editors, shells, hooks and agents start programs."""
        if folder not in self._by_start_files:
            self._by_start_files[folder] = _named_by_start_files(folder, self.after)
        return self._by_start_files[folder]


def _question(place: _Place, names: set[str], nested: Sequence[Path], naming: _Naming) -> str | None:
    path, after = place.path, naming.after

    def texts() -> list[str]:
        return [(data or b"").decode("utf-8", "replace") for data in (content_before(path), after.content(path))]

    relative = path.relative_to(place.root).as_posix()
    for name in (relative, *sorted(names - {relative})):
        rule, reason = edit_rule([name], texts)
        known = "is" if name == relative else f"is also known as {name}, which is"
        if rule == "never":
            raise ToolError("OUTSIDE_WORKSPACE", f"{place.shown} {known} protected ({reason}), never written by tools")
        if rule == "ask":
            return f"{known} a protected file ({reason})"
    if any(path.is_relative_to(own) for one in nested for own in own_folders(one, after)):
        raise ToolError(
            "OUTSIDE_WORKSPACE", f"{place.shown} is one of git's own files, which are never written by tools"
        )
    for folder in dict.fromkeys((place.root, *_between(place), *nested)):
        if folder != place.root and not os.path.lexists(folder / ".git"):
            continue
        named = naming.by_git(folder)
        if named is None and folder in nested and not path.is_relative_to(folder):
            continue  # git cannot be used there
        if named is None:
            return "may be named by git's configuration, which cannot be read"
        if (reason := named.reason(path)) is not None:
            return reason
    for search in (naming.by_package, naming.by_start_files):
        for folder in _between(place):
            named = search(folder)
            if named is not None and (reason := _as_module(named, path)) is not None:
                return reason
    return _by_status(path)


def _by_status(path: Path) -> str | None:
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    if not status.st_mode & _WRITE_BITS:
        return "is marked as read-only"
    if status.st_nlink > 1:
        return f"has {status.st_nlink} names (hard links), and the others are unknown"
    return None


def _places(changes: Sequence[FileChange], roots: Roots) -> Iterator[_Place | None]:
    for change in changes:
        for path in change.paths:
            root = roots.root_of(path)
            shown = change.shown if path == change.new_path else change.relative
            yield _Place(path, shown, root) if root is not None and path != root else None


def _between(place: _Place) -> Iterator[Path]:
    """Yield the folders from the root down to the one that contains the path."""
    names = place.path.relative_to(place.root).parts
    for depth in range(len(names)):
        yield place.root.joinpath(*names[:depth])


def _nested(trees: Trees) -> list[Path]:
    """Return the nested work trees in the workspace that walks find."""
    found = (Path(one.path) for root in trees.roots.roots for one in trees.tree(root).kept() if one.has_git)
    return sorted(folder for folder in found if folder not in trees.roots.roots)[:_MOST_NESTED]


class _Repositories:
    """What is git's own on a disk. What is said of a folder is found out once, for all files in it."""

    def __init__(self, after: After) -> None:
        self._after = after
        self._is_own: dict[Path, bool] = {}
        self._data: dict[tuple[Path, Path], frozenset[Path]] = {}
        self._around: dict[tuple[Path, Path], frozenset[Path] | None] = {}

    def has(self, place: _Place) -> bool:
        """Tell whether a path belongs to git. Raises OSError."""
        key = (place.root, place.path.parent)
        if key not in self._around:
            self._around[key] = self._data_around(place)
        data = self._around[key]
        if data is None or looks_like_repository(self._after.names(place.path)):
            return True
        return any(place.path.is_relative_to(one) for one in data)

    def _data_around(self, place: _Place) -> frozenset[Path] | None:
        """Return the folders in which git keeps the data of the work trees around a path; None if it is in such a
        folder itself."""
        between = list(_between(place))
        for folder in between:
            if folder not in self._is_own:
                self._is_own[folder] = looks_like_repository(self._after.names(folder))
            if self._is_own[folder]:
                return None
        found: set[Path] = set()
        for folder in (*place.root.parents, *between):
            key = (place.root, folder)
            if key not in self._data:
                data = own_folders(folder, self._after)
                self._data[key] = frozenset(one for one in data if not place.root.is_relative_to(one))
            found |= self._data[key]
        return frozenset(found)


def _named_by_package(folder: Path, after: After) -> Named | None:
    """Return what installing the package in a folder runs, and the hooks in its `package.json`."""
    data = after.content(folder / "package.json")
    if data is None:
        return None
    named = Named(folder)
    try:
        package: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(package, dict):
        return None
    scripts = package.get("scripts")
    for name, text in scripts.items() if isinstance(scripts, dict) else ():
        if _LIFECYCLE.match(name):
            named.tokens(folder, str(text), f"is run when packages are installed ({name} in package.json)")
    for table in _HOOK_TABLES:
        if table in package:
            named.tokens(folder, json.dumps(package[table]), f"is run by hooks ({table} in package.json)")
    return named


def _named_by_start_files(folder: Path, after: After) -> Named:
    """Return what is named by those files of a folder from which editors, shells, hooks and agents start programs."""
    named = Named(folder)
    husky = [f".husky/{name}" for name in after.names(folder / ".husky")]
    for name in (*_START_FILES, *husky):
        if (data := after.content(folder / name)) is not None:
            named.lines(folder, data, f"is named by {name}, which decides what is run")
    name, mark = _ON_OPENING
    if (data := after.content(folder / name)) is not None and mark in data:
        named.lines(folder, data, f"is named by {name}, part of which is run when the folder is opened")
    return named


def _as_module(named: Named, path: Path) -> str | None:
    """Return `Named.reason`, also for a module that is named without its ending or by its folder."""
    spelled = [path, path.with_suffix("")] + ([path.parent] if path.stem in _MODULES else [])
    return next((reason for one in spelled if one != named.place and (reason := named.reason(one))), None)


def _parts(path: Path) -> tuple[str, ...]:
    return Path(folded(str(path))).parts
