"""`edit_create_file`: creates a file, or replaces the whole text of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool


class EditCreateFileArgs(Arguments):
    path: str
    content: str = Field(description="The whole text of the file.")
    overwrite: bool = Field(False, description="Replace a file that exists.")


class EditCreateFile(EditTool):
    name = "edit_create_file"
    args = EditCreateFileArgs
    writes_whole = True

    def title(self, args: dict[str, Any]) -> str:
        return f"Creating {Path(str(args.get('path', '…'))).name or '…'}"

    async def edit(self, args: EditCreateFileArgs, draft: Draft) -> None:
        await draft.create(args.path, args.content, overwrite=args.overwrite)
