"""The symbol that a model points at, for the editor's language servers."""

from __future__ import annotations

from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.support.texts import existing_text
from north_lsp.workspace.edit.positions import lines_of, units_of
from north_lsp.workspace.language_features import LanguageFeatures, Position
from north_lsp.workspace.workspace import Workspace

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Pointed:
    """`named` is for messages."""

    path: Path
    relative: str
    at: Position
    named: str


def language_of(workspace: Workspace) -> LanguageFeatures:
    """Return the editor's language features. Raises ToolError UNAVAILABLE where it has none."""
    if workspace.language is None:
        raise ToolError("UNAVAILABLE", "this editor does not let its language servers be asked", "use search_text")
    return workspace.language


async def pointed_at(
    path: str | None, line: int | None, symbol: str | None, column: int | None, occurrence: int, workspace: Workspace
) -> Pointed:
    """Find a symbol on its line, or take the column. Raises ToolError."""
    if path is None or line is None:
        raise ToolError("INVALID_INPUT", "path and line are missing", "name the line, and `symbol` or `column`")
    resolved, text, _, _ = await existing_text(path, workspace)
    lines = lines_of(text.text)
    if line > len(lines):
        raise ToolError("INVALID_INPUT", f"{resolved.relative} has {len(lines)} lines, not {line}", "read the file")
    shown = lines[line - 1]
    if symbol is not None:
        start = _find(shown, symbol, occurrence)
        if start is None:
            told = f"line {line} of {resolved.relative} does not have {symbol!r} {occurrence} times"
            raise ToolError("NO_MATCH", told, f"the line is: {shown[:_SHOWN]}")
    elif column is not None:
        start = min(column - 1, len(shown))
    else:
        raise ToolError("INVALID_INPUT", "symbol and column are missing", "name one of them")
    at = Position(line - 1, units_of(shown[:start]))
    return Pointed(resolved.path, resolved.relative, at, symbol or f"{resolved.relative}:{line}:{start + 1}")


def _find(line: str, symbol: str, occurrence: int) -> int | None:
    """Where a symbol stands: as a whole word, if it does so anywhere."""
    places = [at for at in range(len(line)) if line.startswith(symbol, at)]
    whole = [at for at in places if _is_word(line, at, at + len(symbol))]
    found = whole or places
    return found[occurrence - 1] if occurrence <= len(found) else None


def _is_word(line: str, start: int, end: int) -> bool:
    before, after = line[start - 1 : start], line[end : end + 1]
    return not any(one.isalnum() or one == "_" for one in (before, after) if one)
