"""`edit_replace_exact`: an exact piece of text, replaced."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.drafting import Draft, DraftFile, EditTool
from north_lsp.tools.pasted import strip_numbers, strip_pasted
from north_lsp.tools.registry import Arguments
from north_lsp.workspace.anchors import replace_lines
from north_lsp.workspace.match import find_occurrences, replace_exact
from north_lsp.workspace.tolerant import find_tolerant


class EditReplaceExactArgs(Arguments):
    path: str = Field(description="Relative to the workspace root.")
    old: str = Field(min_length=1, description="The exact text to replace, without line numbers.")
    new: str = Field(description="What stands there afterwards.")
    expectedOccurrences: int = Field(1, ge=1, description="How often `old` occurs.")
    snapshot: str | None = Field(None, description="The snapshot that the text was taken from.")


class EditReplaceExact(EditTool):
    name = "edit_replace_exact"
    args = EditReplaceExactArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Editing {Path(str(args.get('path', '…'))).name or '…'}"

    async def edit(self, args: EditReplaceExactArgs, draft: Draft) -> None:
        file, text = await draft.open(args.path, args.snapshot)
        tolerant = draft.workspace.edits.tolerance == "whitespace"
        file.text = await anyio.to_thread.run_sync(partial(_replaced, file, text, args, tolerant=tolerant))


def _replaced(file: DraftFile, text: str, args: EditReplaceExactArgs, *, tolerant: bool) -> str:
    old, new = args.old, args.new
    if not find_occurrences(text, old):
        bare, was_pasted = strip_pasted(old)
        if not (was_pasted and bare and find_occurrences(text, bare)):
            bare, was_pasted = strip_numbers(old) or "", True
        if was_pasted and bare and find_occurrences(text, bare):
            old, new = bare, strip_numbers(new) or strip_pasted(new)[0]
            file.note("line numbers or header lines that were copied along were left out")
    try:
        return replace_exact(text, old, new, args.expectedOccurrences)
    except ToolError as error:
        if error.code != "NO_MATCH" or not tolerant or args.expectedOccurrences != 1:
            raise
        found = find_tolerant(text, old, new)
        if found is None:
            raise
        file.note(
            f"lines {found.start + 1}-{found.end} of {file.relative} matched but for white space; theirs was kept"
        )
        return replace_lines(text, found.start, found.end, found.content)
