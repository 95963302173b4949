"""Where the plan of a conversation is kept: with the conversation, or in `.north/plans/` of the project. Blocks: for a
thread."""

from __future__ import annotations

import os
from pathlib import Path

from north_lsp import systems
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.plans import last_plan
from north_lsp.agent.planning.plan_text import name_of
from north_lsp.agent.planning.work_folder import put_document
from north_lsp.storage.files import private_directory, write_atomic
from north_lsp.tools.workflows import slug_of
from north_lsp.workspace.opening import open_real
from north_lsp.workspace.workspace import Workspace

MOST_BYTES = 200_000
_FOLDER = Path(".north/plans")


def plan_file(log: Log) -> Path:
    """Return where the plan is kept; it may not be there."""
    known, root = last_plan(log.path()), log.header.root
    return Path(root) / known.file if known is not None and known.file and root else log.folder / "plan.md"


def read_plan(log: Log) -> str | None:
    """Read the plan as it is now; None if there is none, or if a link is on the way to it in the project."""
    path = plan_file(log)
    try:
        with open(systems.open_file(path, os.O_RDONLY) if path.parent == log.folder else open_real(path), "rb") as file:
            return file.read(MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None


def put_plan(log: Log, workspace: Workspace, content: str, *, in_project: bool) -> str:
    """Write the plan, a first one into the project if that is wanted. Return its path there; empty for one that is kept
    with the conversation. Raises ToolError, OSError."""
    known = last_plan(log.path())
    file = known.file if known is not None else _new_file(workspace, content) if in_project else ""
    if file:
        put_document(workspace, workspace.roots.main / file, content)
        return file
    path = log.folder / "plan.md"
    private_directory(path.parent)
    write_atomic(path, content.encode("utf-8", "replace"))
    return ""


def _new_file(workspace: Workspace, content: str) -> str:
    """Return a name that no other plan has."""
    try:
        taken = [name.removesuffix(".md") for name in os.listdir(workspace.roots.main / _FOLDER)]
    except OSError:
        taken = []
    return str(_FOLDER / f"{slug_of(name_of(content) or 'plan', taken)}.md")
