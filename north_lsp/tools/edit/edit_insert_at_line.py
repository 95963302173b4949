"""`edit_insert_at_line`: inserts whole lines before a line number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.workspace.edit.anchors import replace_lines
from north_lsp.workspace.text import split_lines


class EditInsertAtLineArgs(Arguments):
    path: str
    line: int = Field(description="The first line of the content gets this number; one more than the last appends.")
    content: str = Field(description="Whole lines.")
    snapshot: str | None = Field(None, description="The snapshot that the line number was taken from.")


class EditInsertAtLine(EditTool):
    name = "edit_insert_at_line"
    args = EditInsertAtLineArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Editing {Path(str(args.get('path', '…'))).name or '…'}"

    async def edit(self, args: EditInsertAtLineArgs, draft: Draft) -> None:
        file, text = await draft.open(args.path, args.snapshot, "lines")
        total = len(split_lines(text))
        if not 1 <= args.line <= total + 1:
            raise ToolError(
                "INVALID_INPUT",
                f"line {args.line} is not in {file.relative}, which has {total} lines",
                f"give a line from 1 to {total + 1}",
                {"totalLines": total},
            )
        file.text = replace_lines(text, args.line - 1, args.line - 1, file.without_pasted(args.content))
