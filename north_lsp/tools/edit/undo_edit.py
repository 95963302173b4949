"""`undo_edit`: undoes the last applied changes of this conversation, as a new proposal."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import WriteTool
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace


class UndoEditArgs(Arguments):
    path: str | None = Field(None, description="Only this file.")
    steps: int = Field(1, ge=1, le=100, description="How many changes.")


class UndoEdit(WriteTool):
    name = "undo_edit"
    discoverable = True
    args = UndoEditArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Undoing the last edit of {args['path']}" if args.get("path") else "Undoing the last edit"

    async def prepare(self, args: UndoEditArgs, workspace: Workspace) -> Sequence[FileChange]:
        if workspace.revert is None:
            raise ToolError("UNAVAILABLE", "nothing is kept here that could be undone")
        return await workspace.revert(args.path, args.steps)
