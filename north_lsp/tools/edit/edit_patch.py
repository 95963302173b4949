"""`edit_patch`: applies a patch of one or several files, as a unified diff or in the `*** Begin Patch` form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.draft_file import DraftFile
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.tools.edit.pasted_line_numbers import Place, without_pasted
from north_lsp.workspace.edit.patch import BEGIN, END, FilePatch, PatchHunk, parse_patch, patched

_OTHERWISE = "use edit_replace_exact"
_OPERATION = lazy_pattern(r"^(?:\*\*\* (?:Add|Update|Delete) File: |diff --git |--- (?!$))", re.MULTILINE)


class EditPatchArgs(Arguments):
    patch: str = Field(min_length=1, description="A unified diff, or the `*** Begin Patch` form.")


class EditPatch(EditTool):
    name = "edit_patch"
    args = EditPatchArgs
    in_parts = True

    def title(self, args: dict[str, Any]) -> str:
        return "Applying a patch"

    def possible(self, arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        patch = arguments.get("patch")
        if not isinstance(patch, str):
            return
        whole = patch[: patch.rfind("\n") + 1]
        end = f"{END}\n" if BEGIN in whole else ""
        hunk = max(whole.rfind("\n@@"), whole.rfind("\n*** Update File"), whole.rfind("\n--- ")) + 1
        yield {"patch": whole + end}
        yield {"patch": whole[:hunk] + end}

    def cut_before(self, text: str, offset: int) -> str | None:
        """Return the operations that end before `offset`; None if there is none."""
        starts = [found.start() for found in _OPERATION.finditer(text) if found.start() <= offset]
        if BEGIN not in text:
            whole = [start for start in starts if text.startswith("diff --git", start)]
            starts = whole or starts
        if len(starts) < 2:
            return None
        kept = text[: starts[-1]]
        return f"{kept}{END}\n" if BEGIN in text else kept

    async def edit(self, args: EditPatchArgs, draft: Draft) -> None:
        for one in await anyio.to_thread.run_sync(parse_patch, args.patch):
            await _apply(one, draft)


def _ensure_bare(file: DraftFile, hunks: Sequence[PatchHunk]) -> None:
    """Check that hunks add no line numbers copied from a read result. Raises ToolError INVALID_INPUT."""
    for hunk in hunks:
        added = "".join(line for line in hunk.after if line not in hunk.before)
        if added and without_pasted(added, Place(file.text or "", file.read), _OTHERWISE)[1]:
            raise ToolError(
                "INVALID_INPUT", "the patch adds lines with line numbers from a read result", "leave the numbers out"
            )


async def _apply(one: FilePatch, draft: Draft) -> None:
    tolerant = draft.workspace.settings.edits.tolerance == "whitespace"
    match one.action:
        case "add":
            await draft.create(one.path, one.content, overwrite=False)
        case "delete":
            if one.hunks:
                file, text = await draft.open(one.path, None)
                left, _ = await anyio.to_thread.run_sync(partial(patched, file.relative, text, one.hunks))
                if left:
                    raise ToolError("NO_MATCH", f"the patch deletes {file.relative}, but not all of its text")
            await draft.delete(one.path)
        case "update":
            if one.hunks:
                by_line = any(not hunk.before and hunk.line is not None for hunk in one.hunks)
                file, text = await draft.open(one.path, None, "lines" if by_line else "content")
                _ensure_bare(file, one.hunks)
                work = partial(patched, file.relative, text, one.hunks, tolerant=tolerant)
                file.text, notices = await anyio.to_thread.run_sync(work)
                for notice in notices:
                    file.note(notice)
            if one.to is not None:
                await draft.move(one.path, one.to, overwrite=False)
