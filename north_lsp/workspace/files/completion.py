"""Completes what a user types of a path: the best files and folders of all roots."""

from __future__ import annotations

import threading
from collections.abc import Collection
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.listing import readable
from north_lsp.workspace.files.trees import Trees

_MOST = 50


@dataclass(frozen=True, slots=True)
class FoundPath:
    """`shown` is relative to the main root, or begins with the name of a further one."""

    path: Path
    shown: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class Completion:
    """The best first. `is_incomplete`: there may be better ones that were not looked at."""

    found: tuple[FoundPath, ...] = ()
    is_incomplete: bool = False


class PathCompletion:
    """Completes paths of one workspace. What is ignored or closed is not among them. `patience` is how long, in
    seconds, one request waits for another that holds the `lock`."""

    def __init__(self, trees: Trees, patience: float = 2.0) -> None:
        self._trees = trees
        self.patience = patience
        self.lock = threading.Lock()

    def complete(self, query: str, limit: int, unsaved: Collection[Path] = ()) -> Completion:
        """Return the best paths. The first time all folders are read, which nobody waits for twice: meanwhile the
        answer is an incomplete one. For a thread."""
        if not self.lock.acquire(timeout=self.patience):
            return Completion(is_incomplete=True)
        try:
            return self._complete(query, min(limit, _MOST), unsaved)
        finally:
            self.lock.release()

    def _complete(self, query: str, limit: int, unsaved: Collection[Path]) -> Completion:
        roots, is_limited = self._trees.roots, False
        ranked: list[tuple[int, int, str, Path, bool]] = []
        for at, root in enumerate(roots.roots):
            if any(root.is_relative_to(other) for other in roots.roots[:at]):
                continue
            index = self._trees.tree(root).fuzzy(unsaved)
            is_limited = is_limited or index.limited
            prefix = roots.display_path(root, "")
            below = query[len(prefix) :] if prefix and query.startswith(prefix) else query
            for score, _, relative in index.ranked(below, limit):
                shown = roots.display_path(root, relative)
                ranked.append((score, len(shown), shown, root / relative, relative in index.folders))
        ranked.sort(key=lambda row: row[:3])
        found: dict[Path, FoundPath] = {}
        for _, _, shown, path, is_folder in ranked:
            found.setdefault(path, FoundPath(path, readable(shown), is_folder))
        return Completion(tuple(found.values())[:limit], is_limited)
