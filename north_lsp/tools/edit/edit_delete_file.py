"""`edit_delete_file`: deletes a file or an empty folder; the contents stay in the checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.vocabulary import Kind


class EditDeleteFileArgs(Arguments):
    path: str


class EditDeleteFile(EditTool):
    name = "edit_delete_file"
    kind: Kind = "delete"
    args = EditDeleteFileArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Deleting {Path(str(args.get('path', '…'))).name or '…'}"

    async def edit(self, args: EditDeleteFileArgs, draft: Draft) -> None:
        await draft.delete(args.path)
