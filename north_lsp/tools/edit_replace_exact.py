"""`edit_replace_exact`: an exact piece of text, replaced."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.base import Workspace, WriteTool
from north_lsp.tools.registry import Arguments
from north_lsp.tools.texts import resolve_open, text_of
from north_lsp.workspace.diff import make_change
from north_lsp.workspace.match import replace_exact
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import is_generated


class EditReplaceExactArgs(Arguments):
    path: str = Field(description="Relative to the workspace root.")
    old: str = Field(min_length=1, description="The exact text to replace, without line numbers.")
    new: str = Field(description="What stands there afterwards.")
    expectedOccurrences: int = Field(1, ge=1, description="How often `old` occurs.")


class EditReplaceExact(WriteTool):
    name = "edit_replace_exact"
    args = EditReplaceExactArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Editing {Path(str(args.get('path', '…'))).name or '…'}"

    async def prepare(self, args: EditReplaceExactArgs, workspace: Workspace) -> Sequence[FileChange]:
        resolved = await resolve_open(args.path, workspace)
        text, _ = await text_of(resolved.path, workspace)
        marker = is_generated(text.text[:1024], resolved.path.name)
        if marker is not None:
            raise ToolError(
                "GENERATED_FILE", f"{resolved.relative} is generated ({marker})", "change its source instead"
            )
        if resolved.path not in workspace.seen.tags:
            raise ToolError("STALE", f"{resolved.relative} was not read in this conversation", "read the place first")
        replace = partial(replace_exact, text.text, args.old, args.new, args.expectedOccurrences)
        new = await anyio.to_thread.run_sync(replace)
        change = partial(make_change, resolved.path, resolved.relative, text.text, new, text.form)
        return [await anyio.to_thread.run_sync(change)]
