"""`edit_rename_symbol`: a name, changed wherever the language servers find it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.tools.support.symbols import language_of, pointed_at
from north_lsp.tools.support.texts import text_of
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.edit.positions import replaced


class EditRenameSymbolArgs(Arguments):
    path: str
    line: int = Field(ge=1, description="A line where the symbol is, from 1.")
    symbol: str = Field(min_length=1, description="The name as written there.")
    occurrence: int = Field(1, ge=1, description="Which `symbol` of the line.")
    newName: str = Field(min_length=1)


class EditRenameSymbol(EditTool):
    name = "edit_rename_symbol"
    discoverable = True
    args = EditRenameSymbolArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Renaming {args.get('symbol', '…')} to {args.get('newName', '…')}"

    async def edit(self, args: EditRenameSymbolArgs, draft: Draft) -> None:
        workspace = draft.workspace
        language = language_of(workspace)
        pointed = await pointed_at(args.path, args.line, args.symbol, None, args.occurrence, workspace)
        files = await language.rename(pointed.path, pointed.at, args.newName)
        if not files:
            raise ToolError("NOT_FOUND", f"the language servers do not rename {args.symbol}", "use search_text")
        for path, replacements in files.items():
            # The places come from the present text, not from what the model remembers of it.
            tag = (await text_of(path, workspace))[0].tag
            file, text = await draft.open(str(path), f"{path}#{tag}")
            try:
                file.text = await on_thread(replaced, text, replacements)
            except ValueError as error:
                told = f"the language server's rename does not fit {file.relative}: {error}"
                raise ToolError("STALE", told, "try again") from None
