"""`edit_replace_exact`: replaces an exact piece of text."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.draft_file import DraftFile
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.tools.edit.pasted_line_numbers import has_number, numbers_in, strip_header, strip_numbers
from north_lsp.workspace.edit.anchors import replace_lines
from north_lsp.workspace.edit.match import find_occurrences, replace_exact
from north_lsp.workspace.edit.whitespace_match import find_ignoring_whitespace


class EditReplaceExactArgs(Arguments):
    path: str
    old: str = Field(min_length=1, description="The exact text to replace, without line numbers.")
    new: str = Field(description="The text to put in its place.")
    expectedOccurrences: int = Field(1, ge=1, description="How many times `old` occurs.")
    snapshot: str | None = Field(None, description="The snapshot that the text was taken from.")


class EditReplaceExact(EditTool):
    name = "edit_replace_exact"
    args = EditReplaceExactArgs
    decisive = frozenset({"path", "old"})

    def title(self, args: dict[str, Any]) -> str:
        return f"Editing {Path(str(args.get('path', '…'))).name or '…'}"

    async def edit(self, args: EditReplaceExactArgs, draft: Draft) -> None:
        file, text = await draft.open(args.path, args.snapshot)
        tolerant = draft.workspace.settings.edits.tolerance == "whitespace"
        file.text = await anyio.to_thread.run_sync(partial(_replaced, file, text, args, tolerant=tolerant))


def _as_pasted(pasted: str, bare: str, new: str) -> str:
    """Return the replacement for a text that was copied with its line numbers. Raises ToolError INVALID_INPUT if only
    some lines of the replacement have such numbers."""
    if pasted == bare:
        return new
    stripped = strip_numbers(new)
    if stripped is None and has_number(new, numbers_in(pasted)):
        raise ToolError(
            "INVALID_INPUT",
            "`old` has line numbers that are not part of the file, and `new` has some as well, but not in sequence",
            "send both without line numbers",
        )
    return new if stripped is None else stripped


def _replaced(file: DraftFile, text: str, args: EditReplaceExactArgs, *, tolerant: bool) -> str:
    old, new = args.old, args.new
    if find_occurrences(text, old):
        if strip_numbers(old) is None:  # else the file itself has such lines
            new = file.without_pasted(new, "begin `old` and `new` with a neighboring line that has no such number")
    else:
        headless = strip_header(old)
        bare = next((one for one in (headless, strip_numbers(headless)) if one and find_occurrences(text, one)), None)
        if bare is not None:
            new = _as_pasted(headless, bare, strip_header(new))
            old = bare
            file.note("line numbers or header lines that were copied from a read result were left out")
    try:
        return replace_exact(text, old, new, args.expectedOccurrences)
    except ToolError as error:
        if error.code != "NO_MATCH" or not tolerant or args.expectedOccurrences != 1:
            raise
        found = find_ignoring_whitespace(text, old, new)
        if found is None:
            raise
        file.note(
            f"lines {found.start + 1}-{found.end} of {file.relative} matched except for whitespace; the file's was kept"
        )
        return replace_lines(text, found.start, found.end, found.content)
