"""What an edit made wrong, as far as the editor's language servers say: told to the model with the edit's result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from north_lsp.agent.ports.results import Result, ok
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.language_features import Problem, Problems
from north_lsp.workspace.languages import language_of
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

_TOLD = ("error", "warning")
# Of these nobody expects a language server to say anything.
_PROSE = frozenset({"json", "yaml", "toml", "ini", "markdown", "rst", "text"})
_MOST = 20
_Key = tuple[Path, str, str, str, str]


@dataclass(frozen=True)
class Known:
    """How often each problem was there before an edit, in the files that the language servers had looked at. Its line
    does not count, since an edit moves it."""

    counts: Counter[_Key] = field(default_factory=Counter)
    files: frozenset[Path] = frozenset()


async def problems_before(workspace: Workspace, files: Sequence[FileChange]) -> Known | None:
    """Ask for the problems that are there already; None where nobody can be asked, or the user does not want it."""
    if workspace.language is None or not workspace.settings.edits.diagnostics_on_write:
        return None
    names = {change.path: change.target for change in files if change.old_text is not None and _has_text(change)}
    if not names:
        return Known()
    try:
        told = await workspace.language.problems(list(names))
    except ToolError:
        return None
    found = [problem for problem in told.found if problem.path in names]
    known = frozenset(names[path] for path in told.known if path in names)
    return Known(Counter(_key(problem, names[problem.path]) for problem in found), known)


async def with_new_problems(
    result: Result, before: Known | None, workspace: Workspace, files: Sequence[FileChange]
) -> Result:
    """Add what was not wrong before to the result; in files that nobody had looked at, with what is wrong in the lines
    that were edited; and the code that no language server has looked at, so that silence is not taken for praise."""
    edited = {change.target: change for change in files if change.action != "delete" and _has_text(change)}
    if workspace.language is None or before is None or not edited:
        return result
    try:
        told = await workspace.language.problems(list(edited), settled=True)
    except ToolError:
        told = Problems()
    left = before.counts.copy()
    new: list[Problem] = []
    for problem in told.found:
        change = edited.get(problem.path)
        if change is None or problem.severity not in _TOLD:
            continue
        if problem.path not in before.files:
            new += [problem] if _is_edited(problem, change) else []
        elif left[_key(problem, problem.path)] > 0:
            left[_key(problem, problem.path)] -= 1
        else:
            new.append(problem)
    checked = told.known | {problem.path for problem in told.found}
    unknown = sorted(change.shown for path, change in edited.items() if path not in checked and _is_code(path))
    if not new and not unknown:
        return result
    new.sort(key=lambda problem: (_TOLD.index(problem.severity), edited[problem.path].shown, problem.start.line))
    data = json.loads(result.text)["data"]
    if new:
        data["diagnostics"] = [_row(problem, edited[problem.path]) for problem in new[:_MOST]]
    if len(new) > _MOST:
        data["moreDiagnostics"] = len(new) - _MOST
    if unknown:
        data["diagnosticsUnknown"] = unknown[:_MOST]
    return replace(result, text=ok(data))


def _is_code(path: Path) -> bool:
    language = language_of(path.name)
    return language is not None and language.id not in _PROSE


def _has_text(change: FileChange) -> bool:
    return not change.folder and not change.binary


def _is_edited(problem: Problem, change: FileChange) -> bool:
    line = problem.start.line + 1
    return any(hunk.new_start <= line < hunk.new_start + max(hunk.new_lines, 1) for hunk in change.hunks)


def _row(problem: Problem, change: FileChange) -> dict[str, object]:
    by = " ".join(filter(None, (problem.source, problem.code)))
    row: dict[str, object] = {"path": change.shown, "line": problem.start.line + 1}
    row |= {"severity": problem.severity, "message": problem.message}
    return row | ({"source": by} if by else {})


def _key(problem: Problem, path: Path) -> _Key:
    return path, problem.severity, problem.message, problem.source, problem.code
