"""`edit_move_file`: moves or renames a file or an empty folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.vocabulary import Kind


class EditMoveFileArgs(Arguments):
    from_: str = Field(alias="from")
    to: str = Field(description="The new path, with the name; missing folders are created.")
    overwrite: bool = Field(False, description="Replace a file that exists there.")


class EditMoveFile(EditTool):
    name = "edit_move_file"
    kind: Kind = "move"
    args = EditMoveFileArgs

    def title(self, args: dict[str, Any]) -> str:
        names = [Path(str(args.get(key, "…"))).name or "…" for key in ("from", "to")]
        return f"Moving {names[0]} to {args['to']}" if "to" in args else f"Moving {names[0]}"

    async def edit(self, args: EditMoveFileArgs, draft: Draft) -> None:
        await draft.move(args.from_, args.to, overwrite=args.overwrite)
