"""Puts what the editor shows into words for a model: bounded, and only files that tools may see."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from north_lsp.agent.context.documents import cut, plain
from north_lsp.agent.log.editor_state import EditorState
from north_lsp.agent.prompts import render
from north_lsp.display import fenced, one_line
from north_lsp.errors import ToolError
from north_lsp.tools.support.texts import attached_text, resolve_open
from north_lsp.workspace.text import split_lines, to_newlines
from north_lsp.workspace.workspace import Workspace

MAX_FILES = 20
MAX_PROBLEMS = 10
_MAX_SELECTED_LINES = 200
_MAX_SELECTED_BYTES = 8 * 1024


async def editor_text(state: EditorState, workspace: Workspace) -> tuple[str, Path | None]:
    """Render the state, and return the real path of the active file. Files that are closed to tools or outside of the
    workspace are left out; empty if nothing is left."""
    active, path = await _resolved(state.active, workspace) if state.active is not None else (None, None)
    edits = [(await _names([name], workspace), line) for name, line in state.edits[:MAX_FILES]]
    values = {
        "active": active or "",
        "line": str(state.line or ""),
        "view": _range(state.in_view),
        "selected": _range(state.selection) if active else "",
        "selection": await _selection(state, workspace) if active else "",
        "visible": ", ".join(await _names(state.visible, workspace)),
        "opened": ", ".join(await _names(state.opened, workspace)),
        "unsaved": ", ".join(await _names(state.unsaved, workspace)),
        "edits": ", ".join(f"{names[0]}:{line}" for names, line in edits if names),
    }
    shown = state.problems[:MAX_PROBLEMS] if active else ()
    problems = [{"problem": plain(f"line {one.line}: {one.severity}: {one_line(one.message, 300)}")} for one in shown]
    if not any(values[key] for key in ("active", "visible", "opened", "unsaved", "edits")):
        return "", path
    return render("editor", **values, problems=problems), path


async def _resolved(name: str, workspace: Workspace) -> tuple[str | None, Path | None]:
    try:
        found = await resolve_open(name, workspace)
    except ToolError:
        return None, None
    return plain(one_line(found.relative, 300)), found.path


async def _names(names: Iterable[str], workspace: Workspace) -> list[str]:
    found = [(await _resolved(name, workspace))[0] for name in list(names)[:MAX_FILES]]
    return list(dict.fromkeys(name for name in found if name is not None))


async def _selection(state: EditorState, workspace: Workspace) -> str:
    if state.selection is None or state.active is None:
        return ""
    first, last = state.selection
    try:
        _, text, _ = await attached_text(state.active, workspace)
    except ToolError:
        return ""
    lines = split_lines(to_newlines(text.text, "\n"))[first - 1 : min(last, first + _MAX_SELECTED_LINES - 1)]
    more = "\n… more is selected …" if last - first >= _MAX_SELECTED_LINES else ""
    shown = cut("".join(lines).rstrip("\n"), _MAX_SELECTED_BYTES, "… more is selected …")
    return fenced(plain(f"{shown}{more}")) if shown.strip() else ""


def _range(lines: tuple[int, int] | None) -> str:
    return "" if lines is None else str(lines[0]) if lines[0] == lines[1] else f"{lines[0]}-{lines[1]}"
