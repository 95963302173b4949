"""`edit_format_file`: a file, as the editor's formatter would have it."""

from __future__ import annotations

from typing import Any

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.tools.support.symbols import language_of
from north_lsp.tools.support.texts import existing_text
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.edit.positions import digest_of, replaced

_OTHERWISE = "run the project's formatter with shell_run"


class EditFormatFileArgs(Arguments):
    path: str


class EditFormatFile(EditTool):
    name = "edit_format_file"
    discoverable = True
    args = EditFormatFileArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Formatting {args.get('path', '…')}"

    async def edit(self, args: EditFormatFileArgs, draft: Draft) -> None:
        language = language_of(draft.workspace)
        resolved, present, _, notice = await existing_text(args.path, draft.workspace)
        # The places come from the present text, not from what the model remembers of it.
        file, text = await draft.open(str(resolved.path), f"{resolved.relative}#{present.tag}")
        if notice is not None:
            file.note(notice)
        formatting = await language.format(resolved.path)
        if await on_thread(digest_of, text) != formatting.digest:
            raise ToolError("STALE", f"the editor has another text of {file.relative} than North", "try again")
        if not formatting.replacements:
            told = f"the editor changes nothing in {file.relative}: it is formatted, or there is no formatter for it"
            raise ToolError("NOT_FOUND", told, _OTHERWISE)
        try:
            file.text = await on_thread(replaced, text, formatting.replacements)
        except ValueError as error:
            told = f"what the editor's formatter changes does not fit {file.relative}: {error}"
            raise ToolError("UNAVAILABLE", told, _OTHERWISE) from None
