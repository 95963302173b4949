"""`read_file`: reads a part of a text file, with line numbers, and the contents of other files as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.limits import Limits
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Digest, Output, Picture, ReadTool
from north_lsp.tools.support.addresses import is_address, read_address
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.texts import resolve_existing, shown_text
from north_lsp.tools.support.threads import on_thread, stoppable
from north_lsp.vocabulary import Location
from north_lsp.workspace.edit.anchors import LOOSE, find_anchors
from north_lsp.workspace.edit.closest_match import diagnose
from north_lsp.workspace.edit.conflicts import find_conflicts
from north_lsp.workspace.formats.endings import split_archive_path
from north_lsp.workspace.formats.parsing_child import parse_in_child, scale_in_child
from north_lsp.workspace.formats.pictures import PICTURES, TooLarge, describe_picture, load_picture
from north_lsp.workspace.languages import language_of
from north_lsp.workspace.pagination import Page, Range, make_page, merged, next_range, plain_lines, stream_part
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.structure.parsing import structure_of
from north_lsp.workspace.structure.views import enclosing
from north_lsp.workspace.text import Text, as_text, other_bytes
from north_lsp.workspace.workspace import Workspace

_MAX_FULL = 300
_EDGE = 10
_HEAD, _TAIL = 50, 10


class ReadFileArgs(Arguments):
    path: str = Field(min_length=1)
    startLine: int | None = Field(None, ge=1, description="First line, from 1.")
    endLine: int | None = Field(None, ge=1, description="Last line, inclusive.")
    aroundMatch: str | None = Field(None, min_length=1, description="Show the first line that contains this text.")
    occurrence: int = Field(1, ge=1, description="Which match of `aroundMatch`.")
    windowLines: int = Field(20, ge=0, description="Lines before and after the match, at most 250.")
    includeContext: Literal["imports", "full"] | None = Field(
        None, description="Also the file's imports, or the whole enclosing function or class."
    )
    includeHeadTail: bool = Field(False, description="Also the first and last 10 lines.")
    lineNumbers: bool = True


@dataclass(frozen=True, slots=True)
class _Shown:
    page: Page
    total: int
    focus: int
    plain: bool


class ReadFile(ReadTool):
    name = "read_file"
    kind = "read"
    args = ReadFileArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Reading {Path(str(args.get('path', '…'))).name or '…'}"

    async def run(self, args: ReadFileArgs, workspace: Workspace) -> Output:
        notices = Notices()
        if args.startLine is not None and args.endLine is not None and args.startLine > args.endLine:
            raise ToolError("INVALID_INPUT", f"startLine {args.startLine} is after endLine {args.endLine}")
        if is_address(args.path):
            shown, content = await read_address(args.path, workspace)
            return await self._virtual(args, shown, content, workspace, notices)
        resolved, notice = await resolve_existing(args.path, workspace, inner=True)
        notices += [notice] if notice else []
        outer, archive_path = split_archive_path(resolved, args.path)
        if outer is not None:
            found = await _read_archive(outer, archive_path)
            if found is not None:
                pictures = await self._pictures(outer, notices)
                output = await self._virtual(args, resolved.relative, found, workspace, notices)
                return replace(output, locations=(Location(resolved.path),), pictures=pictures)
        if outer is None and archive_path:
            notices.append(f"{archive_path!r} names no part of this file: use startLine and endLine to ask for lines")
        try:
            text, source = await shown_text(resolved.path, workspace)
        except ToolError as error:
            if error.code != "TOO_LARGE" or (args.startLine is None and args.endLine is None):
                raise
            return await self._part(args, resolved, workspace, notices)
        window = await on_thread(_window, args, text, resolved.relative, workspace.limits, notices)
        return await self._whole(args, resolved, text, source, window, workspace, notices)

    async def _pictures(self, path: Path, notices: Notices) -> tuple[Picture, ...]:
        if not path.name.lower().endswith(PICTURES):
            return ()
        try:
            found = await on_thread(load_picture, path)
        except OSError as error:
            raise ToolError("IO_ERROR", f"{path.name} cannot be read: {error.strerror}") from error
        if isinstance(found, TooLarge):
            found = await scale_in_child(found) or f"{found.limit}, and it could not be scaled down"
        if isinstance(found, str):
            notices.append(f"the image is not shown: {found}")
            return ()
        notices += [found.note] if found.note is not None else []
        return (Picture(found.mime_type, found.data),)

    async def _whole(
        self,
        args: ReadFileArgs,
        resolved: Resolved,
        text: Text,
        source: str,
        shown: _Shown,
        workspace: Workspace,
        notices: Notices,
    ) -> Output:
        if text.form.encoding == "latin-1":
            notices.append("the file is not UTF-8; it was read as Latin-1")
        if others := other_bytes(text.text, text.form):
            notices.append(
                f"{others} bytes of the file are not UTF-8: each is shown as a character from U+F780 to U+F7FF, and "
                "edits of other places keep it"
            )
        data = _data(resolved.relative, shown, text, workspace.limits, notices)
        conflicts = find_conflicts(plain_lines(text.text)) if "\n>>>>>>> " in text.text else []
        if conflicts or any(path == resolved.path for path, _ in workspace.seen.conflicts.known.values()):
            numbered = workspace.seen.conflicts.register(resolved.path, conflicts)
            data["conflicts"] = [
                {"id": f"conflict://{number}", "startLine": one.startLine, "endLine": one.endLine}
                for number, one in numbered.items()
            ]
        digest, ranges = _digest(data, shown, workspace.limits, notices, source), shown.page.ranges
        if digest is not None:
            ranges = ((1, _HEAD), (shown.page.ranges[0][1] - _TAIL + 1, shown.page.ranges[0][1]))
        workspace.seen.note(resolved.path, text.tag, ranges)
        place = Location(resolved.path, shown.focus)
        title = self.title({"path": resolved.relative})
        return Output(title, with_meta(data, notices, source=source), locations=(place,), digest=digest)

    async def _part(self, args: ReadFileArgs, resolved: Resolved, workspace: Workspace, notices: Notices) -> Output:
        """Read a range of a file that is too large to be read whole."""
        limits, first = workspace.limits, args.startLine or 1
        part = await stoppable(lambda over: stream_part(resolved.path, first, args.endLine, limits.read_lines, over))
        last = min(part.start + len(part.lines) - 1, args.endLine or part.total)
        if part.start != first:
            notices.append(f"the file has {part.total} lines; this is its end")
            last = part.start + len(part.lines) - 1
        page = make_page(
            part.lines,
            merged([(part.start, last)], part.total),
            numbered=args.lineNumbers,
            first=part.start,
            max_lines=limits.read_lines,
            max_bytes=limits.read_bytes,
        )
        asked = min(args.endLine or part.total, part.total)
        shown_to = page.ranges[-1][1] if page.ranges else part.start - 1
        left = (shown_to + 1, asked) if shown_to < asked else None
        notices += page.notices
        shown = _Shown(Page(page.ranges, page.content, left), part.total, part.start, False)
        workspace.seen.note(resolved.path, part.text.tag, page.ranges)
        data = _data(resolved.relative, shown, part.text, limits, notices)
        place = Location(resolved.path, part.start)
        title = self.title({"path": resolved.relative})
        return Output(title, with_meta(data, notices, source="disk"), locations=(place,))

    async def _virtual(
        self, args: ReadFileArgs, shown_as: str, content: str, workspace: Workspace, notices: Notices
    ) -> Output:
        text = as_text(content)
        window = await on_thread(_window, args, text, shown_as, workspace.limits, notices)
        data = _data(shown_as, window, text, workspace.limits, notices)
        del data["snapshot"]
        return Output(self.title({"path": shown_as}), with_meta(data, notices))


async def _read_archive(path: Path, archive_path: str) -> str | None:
    """Return the contents of a file that is not text, as text; None if it is read as plain text after all."""
    if path.name.lower().endswith(PICTURES):
        return await on_thread(describe_picture, path)
    return await parse_in_child(path, archive_path)


def _data(relative: str, shown: _Shown, text: Text, limits: Limits, notices: Notices) -> dict[str, object]:
    notices += shown.page.notices
    language = language_of(relative)
    data: dict[str, object] = {
        "path": relative,
        "totalLines": shown.total,
        "bytes": text.size,
        "ranges": [{"start": start, "end": end} for start, end in shown.page.ranges],
        "content": shown.page.content,
        "truncated": shown.page.next is not None,
        "language": language.id if language is not None else None,
        "newline": text.newline,
        "snapshot": f"{relative}#{text.tag}",
    }
    if shown.page.next is not None:
        data["nextRange"] = next_range(shown.page.next, limits.read_lines)
    return data


def _digest(data: dict[str, object], shown: _Shown, limits: Limits, notices: Notices, source: str) -> Digest | None:
    """Return the head and tail of what was read without asking for a part; None if nothing would be left out."""
    if not shown.plain or not shown.page.ranges:
        return None
    start, end = shown.page.ranges[0]
    left = end - start + 1 - _HEAD - _TAIL
    if left <= 1:
        return None
    lines = shown.page.content.split("\n")[:-1]
    content = "\n".join([*lines[:_HEAD], f"... {left} more lines", *lines[-_TAIL:]]) + "\n"
    ranges = [{"start": start, "end": start + _HEAD - 1}, {"start": end - _TAIL + 1, "end": end}]
    count = end - start + 1
    parts = ((1, _HEAD), (count - _TAIL + 1, count))
    short = data | {"content": content, "ranges": ranges, "truncated": True}
    short["nextRange"] = {
        "startLine": start + _HEAD,
        "endLine": min(end - _TAIL, start + _HEAD + limits.read_lines - 1),
    }
    return Digest(with_meta(short, notices, source=source), shown.page.content, f"{left} lines are left out", parts)


def _window(args: ReadFileArgs, text: Text, relative: str, limits: Limits, notices: Notices) -> _Shown:
    """Choose what to show of a text. Raises ToolError for a match that is not there."""
    lines = plain_lines(text.text)
    total = len(lines)
    ranges: list[Range] = []
    plain = False
    if args.aroundMatch is not None:
        window = notices.at_most(args.windowLines, limits.window_lines, "windowLines")
        first, last = _find(args.aroundMatch, args.occurrence, lines, text.text, notices)
        ranges.append((first - window, last + window))
        if args.startLine is not None or args.endLine is not None:
            notices.append("startLine and endLine are ignored because aroundMatch is given")
        focus = first
    else:
        start, end = args.startLine or 1, args.endLine if args.endLine is not None else total
        if start > max(total, 1):
            notices.append(f"the file has {total} lines; this is its last page")
            start, end = max(1, total - limits.read_lines + 1), total
        plain = args.startLine is None and args.endLine is None and not args.includeHeadTail
        ranges.append((start, end))
        focus = start
    ranges += _context(args, relative, text.text, focus, notices)
    if args.includeHeadTail:
        ranges += [(1, _EDGE), (total - _EDGE + 1, total)]
    page = make_page(
        lines,
        merged(ranges, total),
        numbered=args.lineNumbers,
        max_lines=limits.read_lines,
        max_bytes=limits.read_bytes,
    )
    return _Shown(page, total, focus, plain)


def _context(args: ReadFileArgs, relative: str, text: str, focus: int, notices: Notices) -> list[Range]:
    if args.includeContext is None:
        return []
    language = language_of(relative)
    structure = structure_of(language.id if language is not None else "", text)
    if args.includeContext == "imports":
        return [(symbol.start, symbol.end) for symbol in structure.symbols if symbol.kind == "import"]
    around = enclosing(structure, focus)
    if around is None:
        notices.append("no function or class encloses these lines")
        return []
    if around.end - around.start >= _MAX_FULL:
        notices.append(f"{around.name} has more than {_MAX_FULL} lines (to line {around.end})")
    return [(around.start, min(around.end, around.start + _MAX_FULL - 1))]


def _find(needle: str, occurrence: int, lines: list[str], text: str, notices: Notices) -> Range:
    places = find_anchors(lines, needle)
    notices += [LOOSE] if places and places[0].loose else []
    if not places:
        message, details = diagnose(text, needle)
        raise ToolError("NO_MATCH", message, "use search_text to find the right spelling", details)
    if occurrence > len(places):
        raise ToolError("INVALID_INPUT", f"occurrence {occurrence} was asked for, but there are {len(places)} matches")
    found = places[occurrence - 1]
    return found.start + 1, found.end
