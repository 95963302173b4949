"""The folders of a project's workflows, `.north/work/<slug>/`, and how North writes documents of its own into a
project. Blocks: for a thread."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.apply.apply import apply
from north_lsp.workspace.edit.diff import make_change
from north_lsp.workspace.proposal import TextEncoding
from north_lsp.workspace.text import read_text
from north_lsp.workspace.workspace import Workspace

_STATE, _IGNORE = "state.json", ".gitignore"
_SLUG = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """The workflows' folders of one project. Nothing is read or written through a link."""

    workspace: Workspace

    @property
    def _base(self) -> Path:
        return self.workspace.roots.main / ".north" / "work"

    def slugs(self) -> list[str]:
        """List the folders there are."""
        with suppress(OSError, ToolError):
            _ensure_real(self.workspace, self._base)
            return sorted(one for one in os.listdir(self._base) if _SLUG.fullmatch(one))
        return []

    def begin(self, slug: str, state: Mapping[str, Any]) -> None:
        """Make a folder. Raises ToolError."""
        self.put(slug, _IGNORE, "evidence/\n")
        self.put_state(slug, state)

    def state(self, slug: str) -> dict[str, Any]:
        """Return what `state.json` says. Raises ToolError if it is missing or broken: then the folder is only read."""
        text = self.read(slug, _STATE)
        if text is None:
            raise ToolError("NOT_FOUND", f"there is no workflow {slug[:80]!r}", f"known: {', '.join(self.slugs())}")
        try:
            state = json.loads(text)
        except (ValueError, RecursionError):
            state = None
        if not isinstance(state, dict) or not isinstance(state.get("history", []), list):
            told = f".north/work/{slug}/{_STATE} cannot be read, so the workflow can only be looked at"
            raise ToolError("CONFLICT", told, "ask the user to repair or remove the file")
        return state

    def put_state(self, slug: str, state: Mapping[str, Any]) -> None:
        """Write `state.json`. Raises ToolError."""
        self.put(slug, _STATE, json.dumps(state, ensure_ascii=False, indent=1) + "\n")

    def read(self, slug: str, name: str) -> str | None:
        """Return a document; None if there is none. Raises ToolError."""
        if not _SLUG.fullmatch(slug):
            return None
        return _read(self.workspace, self._base / slug / name)

    def put(self, slug: str, name: str, text: str) -> None:
        """Write a document. Raises ToolError."""
        put_document(self.workspace, self._base / slug / name, text)


def put_document(workspace: Workspace, path: Path, text: str) -> None:
    """Write a document of North's below the main root. Raises ToolError, also where a link is on the way."""
    before = _read(workspace, path)
    if before == text:
        return
    form = TextEncoding() if before is None else read_text(path).form
    shown = path.relative_to(workspace.roots.main).as_posix()
    apply([make_change(path, shown, before, text, form)], workspace.roots)


def _read(workspace: Workspace, path: Path) -> str | None:
    _ensure_real(workspace, path)
    try:
        return read_text(path).text
    except ToolError as error:
        if error.code != "NOT_FOUND":
            raise
        return None


def _ensure_real(workspace: Workspace, path: Path) -> None:
    if workspace.trees.resolve(str(path)).path != path:
        raise ToolError("OUTSIDE_WORKSPACE", f"{path} points somewhere else", "ask the user to look at .north")
