"""Keeps what shows that criteria are met in the folder `evidence/` of the active workflow, which git ignores. It is for
people: what counts is the log."""

from __future__ import annotations

import re
from collections.abc import Callable

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.agent.planning.goal import goal_on
from north_lsp.agent.planning.work_folder import WorkFolder
from north_lsp.agent.planning.workflow_course import state_on
from north_lsp.display import fenced, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.goals import Criterion, Evidence
from north_lsp.workspace.workspace import Workspace

_NAME = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}", re.ASCII)
_MOST = 100_000
_SECRET = "Its text is not kept here: it contains a secret of the user."


@dataclass(frozen=True, slots=True)
class WorkEvidence:
    """Writes the evidence of one conversation's criteria into the workflow's folder. `has_secret` tells whether values
    have something in them that no model is told: that is not written into a project."""

    log: Log
    has_secret: Callable[[dict[str, object]], bool]

    async def of_criterion(self, workspace: Workspace, id: str) -> str:
        """Keep the last evidence of a criterion, if a workflow is active. Returns what the model is told."""
        state, goal = state_on(self.log), goal_on(self.log)
        if state is None or goal is None or not _NAME.fullmatch(id):
            return ""
        criterion = goal.criterion(id)
        parts = [f"# {criterion.id}: {criterion.text}", _facts(criterion, criterion.evidence[-1])]
        if (run := self._result(criterion.evidence[-1].artifact)) is not None:
            parts.append(fenced(visible(run.text[:_MOST])))
        try:
            return f"Kept in `{await self.keep(workspace, state, id, *parts)}`."
        except ToolError as error:
            return f"It is not in the workflow's folder: {error}."

    async def keep(self, workspace: Workspace, state: SkillStateEntry, name: str, head: str, *said: str) -> str:
        """Write one document; returns where it is. Raises ToolError."""
        file = f"evidence/{name}.md"
        text = "\n\n".join([head, *said])

        def put() -> None:
            folder = WorkFolder(workspace)
            folder.state(state.slug)  # a broken one is only read
            folder.put(state.slug, file, f"{_SECRET if self.has_secret({'text': text}) else text}\n")

        await anyio.to_thread.run_sync(put)
        return f".north/work/{state.slug}/{file}"

    def _result(self, call_id: str) -> ResultEntry | None:
        found = [one.entry for one in self.log.path() if isinstance(one.entry, ResultEntry)]
        return next((one for one in reversed(found) if call_id and one.call_id == call_id), None)


def _facts(criterion: Criterion, evidence: Evidence) -> str:
    rows = [f"- {criterion.status}, {evidence.at}"]
    rows += [f"- command: `{criterion.command}`"] * bool(criterion.command)
    rows += [f"- {evidence.text}"] * bool(evidence.text)
    return "\n".join([*rows, f"- files as of the entry {evidence.state or 'before any change'}"])
