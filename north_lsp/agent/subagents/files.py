"""The files that a task names: only those that the tools may read."""

from __future__ import annotations

from north_lsp.agent.subagents.request import TaskRequest
from north_lsp.tools.support.texts import resolve_existing
from north_lsp.workspace.workspace import Workspace


async def with_open_files(request: TaskRequest, workspace: Workspace) -> TaskRequest:
    """Return a task with its files resolved through the gate of the tools. Raises ToolError for one that is closed,
    outside the workspace, or missing."""
    found = [(await resolve_existing(path, workspace))[0].path for path in request.files]
    return request.model_copy(update={"files": tuple(map(str, found))})
