"""`read_file`: a part of a text file, numbered."""

from pathlib import Path
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.base import Location, Output, ReadTool, Workspace
from north_lsp.tools.registry import Arguments
from north_lsp.tools.texts import current_text
from north_lsp.workspace.text import Text, split_lines

_MAX_LINES = 500
_MAX_BYTES = 100 * 1024


class ReadFileArgs(Arguments):
    path: str = Field(description="Relative to the workspace root.")
    startLine: int | None = Field(None, ge=1, description="First line, from 1.")
    endLine: int | None = Field(None, ge=1, description="Last line, inclusive.")
    aroundMatch: str | None = Field(None, min_length=1, description="Show the first line that contains this text.")
    occurrence: int = Field(1, ge=1, description="Which match of `aroundMatch`.")
    windowLines: int = Field(20, ge=0, le=250, description="Lines before and after the match.")


class ReadFile(ReadTool):
    name = "read_file"
    kind = "read"
    args = ReadFileArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Reading {Path(str(args.get('path', '…'))).name or '…'}"

    async def run(self, args: ReadFileArgs, workspace: Workspace) -> Output:
        resolved, text, source = await current_text(args.path, workspace)
        start, data = await anyio.to_thread.run_sync(_window, args, text)
        workspace.seen.tags[resolved.path] = text.tag
        data |= {"path": resolved.relative, "snapshot": f"{resolved.relative}#{text.tag}", "source": source}
        return Output(self.title({"path": resolved.relative}), data, locations=(Location(resolved.path, start),))


def _window(args: ReadFileArgs, text: Text) -> tuple[int, dict[str, object]]:
    """The first line shown and the result without its path."""
    lines = split_lines(text.text)
    total = len(lines)
    notices: list[str] = []
    if args.aroundMatch is not None:
        middle = _find(args.aroundMatch, args.occurrence, lines)
        start, end = max(1, middle - args.windowLines), min(total, middle + args.windowLines)
    else:
        start, end = args.startLine or 1, args.endLine or total
        if args.endLine is not None and start > args.endLine:
            raise ToolError("INVALID_INPUT", f"startLine {start} is after endLine {args.endLine}")
        if start > max(total, 1):
            notices.append(f"the file has {total} lines; this is its last page")
            start = max(1, total - _MAX_LINES + 1)
        end = min(end if end >= start else total, total)
    last, size = start - 1, 0
    shown: list[str] = []
    for number in range(start, min(end, start + _MAX_LINES - 1) + 1):
        line = f"{number}→{lines[number - 1].rstrip(chr(10)).removesuffix(chr(13))}\n"
        size += len(line.encode("utf-8", "replace"))
        if size > _MAX_BYTES and shown:
            break
        if size > _MAX_BYTES:
            line = line[:_MAX_BYTES] + "…\n"
            notices.append(f"line {number} is cut: it is longer than {_MAX_BYTES} bytes")
        shown.append(line)
        last = number
    data: dict[str, object] = {
        "totalLines": total,
        "bytes": text.size,
        "ranges": [{"start": start, "end": last}],
        "content": "".join(shown),
        "truncated": last < end,
        "newline": text.newline,
    }
    if last < end:
        data["nextRange"] = {"startLine": last + 1, "endLine": min(end, last + _MAX_LINES)}
    if notices:
        data["notices"] = notices
    return start, data


def _find(needle: str, occurrence: int, lines: list[str]) -> int:
    hits = [number for number, line in enumerate(lines, 1) if needle in line]
    if not hits:
        raise ToolError("NO_MATCH", f"no line contains {needle[:200]!r}", "use search_text to find the right spelling")
    if occurrence > len(hits):
        raise ToolError("INVALID_INPUT", f"occurrence {occurrence} was asked for, but there are {len(hits)} matches")
    return hits[occurrence - 1]
