"""`edit_replace_block`: replaces the lines between two anchors."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.tools.edit.edit_by_anchor import replaced_between

_NAMES = ("startAnchor", "endAnchor")


class EditReplaceBlockArgs(Arguments):
    path: str
    startAnchor: str = Field(description="Part of the line before the block, or consecutive lines.")
    endAnchor: str = Field(description="Part of the line after the block; the first match after the start counts.")
    content: str = Field(description="Whole lines; empty to delete the block.")
    occurrence: int | None = Field(None, ge=1, description="Which match of startAnchor, from 1, if there are several.")
    inclusive: bool = Field(False, description="Also replace the lines of the anchors.")
    snapshot: str | None = Field(None, description="The snapshot that the anchors were taken from.")


class EditReplaceBlock(EditTool):
    name = "edit_replace_block"
    args = EditReplaceBlockArgs
    decisive = frozenset({"path", "startAnchor", "endAnchor"})

    def title(self, args: dict[str, Any]) -> str:
        return f"Editing {Path(str(args.get('path', '…'))).name or '…'}"

    async def edit(self, args: EditReplaceBlockArgs, draft: Draft) -> None:
        file, text = await draft.open(args.path, args.snapshot)
        anchors = (args.startAnchor, args.endAnchor)
        work = partial(
            replaced_between, file, text, anchors, args.content, args.occurrence, _NAMES, inclusive=args.inclusive
        )
        file.text = await anyio.to_thread.run_sync(work)
