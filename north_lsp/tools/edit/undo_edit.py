"""`undo_edit`: undoes the last applied changes of this conversation, as a new proposal."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.workspace.workspace import Workspace


class UndoEditArgs(Arguments):
    path: str | None = Field(None, description="Only this file.")
    steps: int = Field(1, ge=1, le=100, description="How many changes.")


class UndoEdit(Tool):
    name = "undo_edit"
    kind = "edit"
    needs = frozenset({"read", "write"})
    modes = frozenset({"agent"})
    discoverable = True
    args = UndoEditArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Undoing the last edit of {args['path']}" if args.get("path") else "Undoing the last edit"

    async def invoke(self, args: UndoEditArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.undo(args.path, args.steps)
