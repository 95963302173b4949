"""`edit_before_anchor`: inserts whole lines before the line that holds an anchor."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.tools.edit.edit_by_anchor import placed


class EditBeforeAnchorArgs(Arguments):
    path: str
    anchor: str = Field(description="Part of the line you mean, or consecutive lines.")
    content: str = Field(description="Whole lines.")
    occurrence: int | None = Field(None, ge=1, description="Which match, from 1, if there are several.")
    snapshot: str | None = Field(None, description="The snapshot that the anchor was taken from.")


class EditBeforeAnchor(EditTool):
    name = "edit_before_anchor"
    args = EditBeforeAnchorArgs
    decisive = frozenset({"path", "anchor"})

    def title(self, args: dict[str, Any]) -> str:
        return f"Editing {Path(str(args.get('path', '…'))).name or '…'}"

    async def edit(self, args: EditBeforeAnchorArgs, draft: Draft) -> None:
        file, text = await draft.open(args.path, args.snapshot)
        work = partial(placed, file, text, "insert_before", args.anchor, args.content, args.occurrence)
        file.text = await anyio.to_thread.run_sync(work)
