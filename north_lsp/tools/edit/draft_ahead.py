"""Looks at the files of a draft: all that a call names together, on one thread, where they are known beforehand."""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.edit.draft_guards import ensure_outside_files, guard_named
from north_lsp.tools.support.texts import TextsAhead
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.files.trees import Gate
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Look:
    """Where a path leads, once every guard has let it pass, and what is there: None for nothing."""

    resolved: Resolved
    status: os.stat_result | None

    @property
    def is_file(self) -> bool:
        return self.status is not None and stat.S_ISREG(self.status.st_mode)


class Ahead:
    """What was looked at before a draft needs it. What is wrong with a file is raised when the draft comes to it, so
    that the first edit that fails is the one that is told of."""

    def __init__(self, workspace: Workspace) -> None:
        self.texts = TextsAhead(workspace)
        self._workspace = workspace
        self._looks: dict[str, Look | ToolError] = {}

    async def read(self, raw_paths: Iterable[str]) -> None:
        """Look at files and read their texts."""
        new = [path for path in dict.fromkeys(raw_paths) if path not in self._looks]
        if len(new) < 2:
            return
        self._looks |= await on_thread(_looks, new, self._workspace)
        looks = [self._looks[path] for path in new]
        await self.texts.read(
            dict.fromkeys(one.resolved.path for one in looks if isinstance(one, Look) and one.is_file)
        )

    async def look(self, raw_path: str, known: Container[Path]) -> Look:
        """Look at a file; of one that is `known`, only where the path leads. Raises ToolError."""
        found = self._looks.get(raw_path)
        if found is None:
            return await on_thread(_look, raw_path, known, self._workspace)
        if isinstance(found, ToolError):
            raise found
        return found


def _looks(raw_paths: Sequence[str], workspace: Workspace) -> dict[str, Look | ToolError]:
    found: dict[str, Look | ToolError] = {}
    gate = workspace.trees.gate()
    for path in raw_paths:
        try:
            found[path] = _look(path, (), workspace, gate)
        except ToolError as error:
            found[path] = error
    return found


def _look(raw_path: str, known: Container[Path], workspace: Workspace, gate: Gate | None = None) -> Look:
    resolved = (gate or workspace.trees.gate()).resolve(raw_path)
    if raw_path.endswith("/"):
        raise ToolError("INVALID_INPUT", f"{raw_path!r} names a folder", "name a file")
    if resolved.path in known:
        return Look(resolved, None)
    guard_named(resolved, workspace)
    if not resolved.exists:
        ensure_outside_files(resolved, workspace)
    return Look(resolved, _status_of(resolved.path))


def _status_of(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
