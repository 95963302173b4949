"""`expand_output`: reads the full text of a result that was shortened."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.storage.limits import Limits
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.support.addresses import read_output
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.pagination import make_page, merged, next_range, plain_lines
from north_lsp.workspace.workspace import Workspace


class ExpandOutputArgs(Arguments):
    outputId: str = Field(min_length=1, description="The id that the shortened result gives.")
    startLine: int | None = Field(None, ge=1)
    endLine: int | None = Field(None, ge=1)
    search: str | None = Field(None, min_length=1, description="Only the lines that contain this text.")


class ExpandOutput(ReadTool):
    name = "expand_output"
    kind = "read"
    args = ExpandOutputArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Expanding output {args.get('outputId', '…')}"

    async def run(self, args: ExpandOutputArgs, workspace: Workspace) -> Output:
        text = await read_output(args.outputId.removeprefix("artifact://"), workspace.addresses.outputs)
        data = await on_thread(_page, args, text, workspace.limits)
        found = f"{data['matchCount']} matches" if "matchCount" in data else f"{data['totalLines']} lines"
        return Output(f"{self.title({'outputId': args.outputId})} - {found}", data)


def _page(args: ExpandOutputArgs, text: str, limits: Limits) -> dict[str, object]:
    lines = plain_lines(text)
    start, end = args.startLine or 1, args.endLine or len(lines)
    if args.endLine is not None and start > args.endLine:
        raise ToolError("INVALID_INPUT", f"startLine {start} is after endLine {args.endLine}")
    data: dict[str, object] = {"outputId": args.outputId, "totalLines": len(lines)}
    if args.search is not None:
        hits = [at for at in range(start, min(end, len(lines)) + 1) if args.search in lines[at - 1]]
        if not hits:
            raise ToolError("NO_MATCH", f"no line of output {args.outputId} contains {args.search[:200]!r}")
        data["matchCount"] = len(hits)
        ranges = merged(((hit, hit) for hit in hits), len(lines))
    else:
        if start > len(lines):
            start = max(len(lines) - limits.read_lines + 1, 1)
            data["notice"] = f"the output has {len(lines)} lines; this is its end"
        ranges = merged([(start, end)], len(lines))
    page = make_page(lines, ranges, max_lines=limits.read_lines, max_bytes=limits.read_bytes)
    data |= {"content": page.content, "truncated": page.next is not None}
    if page.next is not None:
        data["nextRange"] = next_range(page.next, limits.read_lines)
    return data
