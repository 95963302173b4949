"""What an edit made wrong, as far as the editor's language servers say: told to the model with the edit's result."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from north_lsp.agent.ports.results import Result, ok
from north_lsp.errors import ToolError
from north_lsp.workspace.language_features import Problem
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

_TOLD = ("error", "warning")
_MOST = 20

Known = Counter[tuple[str, str, str, str]]
"""How often each problem is there; its place does not count, since an edit moves it."""


async def problems_before(workspace: Workspace, files: Sequence[FileChange]) -> Known | None:
    """The problems that are there already; None where nobody can be asked, or the user does not want it."""
    if workspace.language is None or not workspace.edits.diagnostics_on_write:
        return None
    paths = [change.path for change in files if change.old_text is not None and not change.folder and not change.binary]
    if not paths:
        return Counter()
    try:
        return Counter(map(_key, await workspace.language.problems(paths)))
    except ToolError:
        return None


async def with_new_problems(
    result: Result, before: Known | None, workspace: Workspace, files: Sequence[FileChange]
) -> Result:
    """The result with what was not wrong before. An editor that does not answer changes nothing."""
    shown = {one.target: one.shown for one in files if one.action != "delete" and not one.folder and not one.binary}
    if workspace.language is None or before is None or not shown:
        return result
    try:
        found = await workspace.language.problems(list(shown), settled=True)
    except ToolError:
        return result
    left, new = before.copy(), list[Problem]()
    for problem in sorted(
        found, key=lambda one: (_TOLD.index(one.severity), one.start.line) if one.severity in _TOLD else (9, 0)
    ):
        if problem.severity not in _TOLD or problem.path not in shown:
            continue
        if left[_key(problem)] > 0:
            left[_key(problem)] -= 1
        else:
            new.append(problem)
    if not new:
        return result
    rows = [{"path": shown[one.path], "line": one.start.line + 1, **_said(one)} for one in new[:_MOST]]
    data = json.loads(result.text)["data"]
    data["diagnostics"] = rows
    if len(new) > _MOST:
        data["moreDiagnostics"] = len(new) - _MOST
    return replace(result, text=ok(data))


def _said(problem: Problem) -> dict[str, str]:
    by = " ".join(filter(None, (problem.source, problem.code)))
    return {"severity": problem.severity, "message": problem.message} | ({"source": by} if by else {})


def _key(problem: Problem) -> tuple[str, str, str, str]:
    return problem.severity, problem.message, problem.source, problem.code
