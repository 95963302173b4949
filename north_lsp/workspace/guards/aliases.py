"""Finds the other names of a path: as it was written, with links in it left unresolved, and through links to it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.guards.protected import write_rule
from north_lsp.workspace.paths import Resolved, Roots

_DEEPEST = 3


def path_aliases(resolved: Resolved, roots: Roots) -> set[str]:
    """Return how a path can be written relative to a root, by each of the names by which it was reached."""
    names = [Path(name) for name in (*resolved.names, str(resolved.path))]
    return {name.relative_to(root).as_posix() for name in names for root in roots.roots if name.is_relative_to(root)}


class Links:
    """The links that lead into a workspace: those in it that walks find, those in protected folders that walks leave
    out, and those in the user's home folder, from which programs read their startup files."""

    def __init__(self, trees: Trees, paths: Iterable[Path]) -> None:
        self._roots = trees.roots
        self._home = Path(os.path.expanduser("~"))
        links: dict[Path, None] = {}
        around = {folder for parent in {path.parent for path in paths} for folder in (parent, *parent.parents)}
        folders = {folder for folder in around if trees.roots.root_of(folder) is not None} | {*trees.roots.roots}
        for root in trees.roots.roots:
            for kept in trees.tree(root).kept():
                links |= dict.fromkeys(Path(kept.path, name) for name in kept.links)
                for name in kept.hidden:
                    if write_rule(name, name) == "ask":
                        links |= dict.fromkeys(_links_in(Path(kept.path, name), name, _DEEPEST - 1))
        for folder in folders:
            links |= dict.fromkeys(_links_in(folder, "", _DEEPEST))
        config = self._home / ".config"
        links |= dict.fromkeys((*_links_in(self._home, "", 0), *_links_in(config, ".config", 1)))
        self._targets = [(link, Path(os.path.realpath(link))) for link in links if link.is_symlink()]

    def names(self, path: Path) -> set[str]:
        """Return the path relative to its root, and to that of every link that leads to it or to a folder around it."""
        return {self._relative(one) for one in self._aliases(path)}

    def _aliases(self, path: Path) -> set[Path]:
        found, fresh = {path}, {path}
        for _ in range(_DEEPEST):
            fresh = {
                link / one.relative_to(target)
                for one in fresh
                for link, target in self._targets
                if one.is_relative_to(target) and not link.is_relative_to(target)
            } - found
            found |= fresh
        return found

    def _relative(self, path: Path) -> str:
        for root in (*self._roots.roots, self._home):
            if path.is_relative_to(root):
                return path.relative_to(root).as_posix()
        return str(path)


def _links_in(folder: Path, protected: str, depth: int) -> Iterator[Path]:
    """Yield the links in a folder, and in the protected folders in it down to a depth; `protected` is the folder's own
    protected name, if any."""
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except OSError:
        return
    for entry in found:
        name = f"{protected}/{entry.name}" if protected else entry.name
        if entry.is_symlink():
            yield Path(entry.path)
        elif depth and entry.is_dir(follow_symlinks=False) and write_rule(name, name) == "ask":
            yield from _links_in(Path(entry.path), name, depth - 1)
