"""`edit_by_anchor`: inserts whole lines next to lines that are found by their content, or replaces those."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.edit.draft_file import DraftFile
from north_lsp.tools.edit.drafting import Draft, EditTool
from north_lsp.tools.edit.pasted_line_numbers import strip_numbers
from north_lsp.workspace.edit.anchors import Found, choose, find_anchors, replace_lines
from north_lsp.workspace.text import split_lines

AnchorMode = Literal["insert_before", "insert_after", "replace_line", "replace_between"]


class EditByAnchorArgs(Arguments):
    path: str
    mode: AnchorMode
    anchor: str = Field(description="Part of the line you mean, or consecutive lines.")
    anchorEnd: str | None = Field(None, description="Where the replaced lines end, for replace_between only.")
    content: str = Field(description="Whole lines; empty with replace_line or replace_between to delete.")
    occurrence: int | None = Field(None, ge=1, description="Which match, from 1, if there are several.")
    inclusive: bool = Field(False, description="Also replace the lines of the anchors, for replace_between only.")
    snapshot: str | None = Field(None, description="The snapshot that the anchor was taken from.")


class EditByAnchor(EditTool):
    name = "edit_by_anchor"
    args = EditByAnchorArgs
    decisive = frozenset({"path", "mode", "anchor"})

    def title(self, args: dict[str, Any]) -> str:
        return f"Editing {Path(str(args.get('path', '…'))).name or '…'}"

    def is_decided(self, arguments: Mapping[str, object]) -> bool:
        return super().is_decided(arguments) and (arguments["mode"] != "replace_between" or "anchorEnd" in arguments)

    async def edit(self, args: EditByAnchorArgs, draft: Draft) -> None:
        end = args.anchorEnd or None  # some models fill arguments they do not need with an empty string
        if (end is None) == (args.mode == "replace_between"):
            needed = "needs" if end is None else "takes no"
            raise ToolError("INVALID_INPUT", f"mode {args.mode} {needed} anchorEnd", details={"field": "anchorEnd"})
        file, text = await draft.open(args.path, args.snapshot)
        if end is not None:
            anchors = (args.anchor, end)
            work = partial(
                replaced_between, file, text, anchors, args.content, args.occurrence, inclusive=args.inclusive
            )
        else:
            work = partial(placed, file, text, args.mode, args.anchor, args.content, args.occurrence)
        file.text = await anyio.to_thread.run_sync(work)


def placed(file: DraftFile, text: str, mode: AnchorMode, anchor: str, content: str, occurrence: int | None) -> str:
    """Return the text with the content put at the anchor. Raises ToolError as `find_anchors` and `choose` do."""
    lines = split_lines(text)
    found = _find(file, lines, anchor, occurrence)
    content = file.without_pasted(content)
    match mode:
        case "insert_before":
            return replace_lines(text, found.start, found.start, content)
        case "insert_after":
            return replace_lines(text, found.end, found.end, content)
        case _:
            return replace_lines(text, found.start, found.end, content)


def replaced_between(
    file: DraftFile,
    text: str,
    anchors: tuple[str, str],
    content: str,
    occurrence: int | None,
    names: tuple[str, str] = ("anchor", "anchorEnd"),
    *,
    inclusive: bool,
) -> str:
    """Return the text with the lines between two anchors replaced, with the anchors' own if `inclusive`; the end is the
    first match after the start. Raises ToolError."""
    lines = split_lines(text)
    start = _find(file, lines, anchors[0], occurrence, names[0])
    ends = find_anchors(lines, anchors[1], start.end)
    if not ends:
        elsewhere = find_anchors(lines, anchors[1])
        if elsewhere:
            raise ToolError(
                "NO_MATCH",
                f"{names[1]} occurs only before {names[0]}: at line {elsewhere[0].start + 1}, which is not after "
                f"line {start.end}",
                "swap the anchors, or choose another occurrence",
                {
                    "anchor": names[1],
                    "startLine": start.start + 1,
                    "endLines": [one.start + 1 for one in elsewhere[:20]],
                },
            )
        choose(ends, None, lines, anchors[1], names[1])
    end = ends[0]
    _note_loose(file, end)
    content = file.without_pasted(content)
    if inclusive:
        return replace_lines(text, start.start, end.end, content)
    return replace_lines(text, start.end, end.start, content)


def _find(file: DraftFile, lines: list[str], anchor: str, occurrence: int | None, name: str = "anchor") -> Found:
    places = find_anchors(lines, anchor)
    if not places and (bare := strip_numbers(anchor)):
        places = find_anchors(lines, bare)
    found = choose(places, occurrence, lines, anchor, name)
    _note_loose(file, found)
    return found


def _note_loose(file: DraftFile, found: Found) -> None:
    if found.loose:
        file.note(f"the anchor matched line {found.start + 1} of {file.relative} except for whitespace")
