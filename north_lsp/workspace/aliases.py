"""The other names of a path: as it was spelled, with links in it left as they are, and through links to it."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from north_lsp.workspace.paths import Resolved, Roots
from north_lsp.workspace.trees import Trees

_DEEPEST = 3


def ways(resolved: Resolved, roots: Roots) -> set[str]:
    """How a path can be written relative to a root, by each of the names by which it was reached."""
    names = [Path(name) for name in (*resolved.names, str(resolved.path))]
    return {name.relative_to(root).as_posix() for name in names for root in roots.roots if name.is_relative_to(root)}


class Links:
    """The links that lead into a workspace: those in it that walks meet, all in the folders around some paths, and
    those in the user's own folder, from which programs take their start-up files."""

    def __init__(self, trees: Trees, paths: Iterable[Path]) -> None:
        self._roots = trees.roots
        self._home = Path(os.path.expanduser("~"))
        links: dict[Path, None] = {}
        for root in trees.roots.roots:
            links |= dict.fromkeys(root / name for name in trees.tree(root).listing().others)
        folders = {folder for path in paths for folder in path.parents if trees.roots.root_of(folder) is not None}
        for folder in sorted({*folders, *trees.roots.roots, self._home, self._home / ".config"}):
            links |= dict.fromkeys(_links_in(folder))
        self._targets = [(link, Path(os.path.realpath(link))) for link in links if link.is_symlink()]

    def names(self, path: Path) -> set[str]:
        """The path relative to its root, and to that of every link that leads to it or to a folder around it."""
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


def _links_in(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink():
                yield Path(entry.path)
