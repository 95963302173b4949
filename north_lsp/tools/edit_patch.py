"""`edit_patch`: a patch of one file or several, as a unified diff or between `*** Begin Patch` and `*** End Patch`."""

from functools import partial
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.drafting import Draft, EditTool
from north_lsp.tools.registry import Arguments
from north_lsp.workspace.patch import FilePatch, parse_patch, patched


class EditPatchArgs(Arguments):
    patch: str = Field(min_length=1, description="A unified diff, or the `*** Begin Patch` form.")


class EditPatch(EditTool):
    name = "edit_patch"
    args = EditPatchArgs

    def title(self, args: dict[str, Any]) -> str:
        return "Applying a patch"

    async def edit(self, args: EditPatchArgs, draft: Draft) -> None:
        for one in await anyio.to_thread.run_sync(parse_patch, args.patch):
            await _apply(one, draft)


async def _apply(one: FilePatch, draft: Draft) -> None:
    tolerant = draft.workspace.edits.tolerance == "whitespace"
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
                file, text = await draft.open(one.path, None)
                work = partial(patched, file.relative, text, one.hunks, tolerant=tolerant)
                file.text, notices = await anyio.to_thread.run_sync(work)
                for notice in notices:
                    file.note(notice)
            if one.to is not None:
                await draft.move(one.path, one.to, overwrite=False)
