"""`read_around`: reads the lines around an anchor text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from north_lsp.storage.limits import Limits
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.addresses import is_address, read_address
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.texts import existing_text
from north_lsp.tools.support.threads import on_thread
from north_lsp.vocabulary import Location
from north_lsp.workspace.edit.anchors import LOOSE, choose, find_anchors
from north_lsp.workspace.pagination import Page, make_page, merged, next_range, plain_lines
from north_lsp.workspace.text import split_lines
from north_lsp.workspace.workspace import Workspace

_NONE = "use search_text to find where it is"


class ReadAroundArgs(Arguments):
    path: str = Field(min_length=1)
    anchor: str = Field(min_length=1, description="A text in the file.")
    before: int = Field(12, ge=0, description="Lines before, at most 200.")
    after: int = Field(20, ge=0, description="Lines after, at most 200.")
    occurrence: int | None = Field(None, description="Which occurrence, from 1, if there are several.")


class ReadAround(ReadTool):
    name = "read_around"
    kind = "read"
    args = ReadAroundArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Reading {Path(str(args.get('path', '…'))).name or '…'}"

    async def run(self, args: ReadAroundArgs, workspace: Workspace) -> Output:
        notices = Notices()
        before = notices.at_most(args.before, workspace.limits.around_lines, "before")
        after = notices.at_most(args.after, workspace.limits.around_lines, "after")
        if is_address(args.path):
            shown, content = await read_address(args.path, workspace)
            data, _, _ = await on_thread(_around, args, content, before, after, workspace.limits, notices)
            return Output(self.title({"path": shown}), with_meta({"path": shown, **data}, notices))
        resolved, text, source, notice = await existing_text(args.path, workspace)
        notices += [notice] if notice else []
        data, page, line = await on_thread(_around, args, text.text, before, after, workspace.limits, notices)
        workspace.seen.note(resolved.path, text.tag, page.ranges)
        data = {"path": resolved.relative, **data, "snapshot": f"{resolved.relative}#{text.tag}"}
        title = self.title({"path": resolved.relative})
        return Output(title, with_meta(data, notices, source=source), locations=(Location(resolved.path, line),))


def _around(
    args: ReadAroundArgs, text: str, before: int, after: int, limits: Limits, notices: Notices
) -> tuple[dict[str, object], Page, int]:
    lines = plain_lines(text)
    places = find_anchors(lines, args.anchor)
    found = choose(places, args.occurrence, split_lines(text), args.anchor, hint=_NONE)
    notices += [LOOSE] if found.loose else []
    first, last = found.start + 1, found.end
    page = make_page(
        lines,
        merged([(first - before, last + after)], len(lines)),
        marked=first,
        max_lines=limits.read_lines,
        max_bytes=limits.read_bytes,
    )
    notices += page.notices
    data: dict[str, object] = {
        "totalLines": len(lines),
        "matchCount": len(places),
        "occurrenceUsed": args.occurrence or 1,
        "matchLine": first,
        "ranges": [{"start": start, "end": end} for start, end in page.ranges],
        "content": page.content,
        "truncated": page.next is not None,
    }
    if page.next is not None:
        data["nextRange"] = next_range(page.next, limits.read_lines)
    return data, page, first
