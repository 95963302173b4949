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
from north_lsp.tools.support.threads import on_thread
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
        patches = await anyio.to_thread.run_sync(parse_patch, args.patch)
        await draft.read_ahead(path for one in patches for path in (one.path, one.to) if path is not None)
        updates: list[FilePatch] = []
        for one in patches:
            if one.action == "update" and one.hunks and one.to is None:
                updates.append(one)
                continue
            await _update(updates, draft)
            updates.clear()
            await _apply(one, draft)
        await _update(updates, draft)


def _ensure_bare(file: DraftFile, hunks: Sequence[PatchHunk]) -> None:
    """Check that hunks add no line numbers copied from a read result. Raises ToolError INVALID_INPUT."""
    for hunk in hunks:
        added = "".join(line for line in hunk.after if line not in hunk.before)
        if added and without_pasted(added, Place(file.text or "", file.read), _OTHERWISE)[1]:
            raise ToolError(
                "INVALID_INPUT", "the patch adds lines with line numbers from a read result", "leave the numbers out"
            )


async def _apply(one: FilePatch, draft: Draft) -> None:
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
                await _update([one], draft)
            if one.to is not None:
                await draft.move(one.path, one.to, overwrite=False)


async def _update(patches: Sequence[FilePatch], draft: Draft) -> None:
    """Apply the hunks of files: those of different files together, on one thread. Raises ToolError for the first that
    cannot be changed."""
    tolerant = draft.workspace.settings.edits.tolerance == "whitespace"
    done = 0
    while done < len(patches):
        opened: dict[int, tuple[DraftFile, str, FilePatch]] = {}
        failed: ToolError | None = None
        for one in patches[done:]:
            by_line = any(not hunk.before and hunk.line is not None for hunk in one.hunks)
            try:
                file, text = await draft.open(one.path, None, "lines" if by_line else "content")
                if id(file) in opened:
                    break  # these hunks are for the text that the earlier ones make
                _ensure_bare(file, one.hunks)
            except ToolError as error:
                failed = error
                break
            opened[id(file)] = (file, text, one)
        made = await on_thread(_patched, list(opened.values()), tolerant)
        for (file, _, _), (text, notices) in zip(opened.values(), made, strict=True):
            file.text = text
            for notice in notices:
                file.note(notice)
        if failed is not None:
            raise failed
        done += len(opened)


def _patched(opened: Sequence[tuple[DraftFile, str, FilePatch]], tolerant: bool) -> list[tuple[str, Sequence[str]]]:
    return [patched(file.relative, text, one.hunks, tolerant=tolerant) for file, text, one in opened]
