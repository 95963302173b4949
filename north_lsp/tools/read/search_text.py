"""`search_text`: searches for a text or a pattern in the files of the workspace."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
from pydantic import BaseModel, Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Digest, Output, ReadTool
from north_lsp.tools.support.addresses import is_address, read_address
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.tools.support.sightings import Shown, shown_of
from north_lsp.tools.support.texts import resolve_existing
from north_lsp.tools.support.threads import on_thread, stoppable
from north_lsp.vocabulary import Location
from north_lsp.workspace.languages import LANGUAGES, endings_of_type
from north_lsp.workspace.search.matching import NeedsChildProcess
from north_lsp.workspace.search.request import Expression, Means, Selection, Within
from north_lsp.workspace.search.ripgrep import find_ripgrep
from north_lsp.workspace.search.search import SearchResult, search, search_in_text
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.workspace.search.search_child import InFiles, InText

_DIGEST = 10


class LineRange(BaseModel):
    start: int = Field(ge=1)
    end: int = Field(ge=1)


class SearchTextArgs(Arguments):
    query: str = Field(min_length=1)
    regex: bool = False
    path: str | None = None
    file: str | None = None
    lineRange: LineRange | None = Field(None, description="Only these lines of `file`.")
    glob: str | None = Field(None, description="Only files whose path matches, for example `*.py`.")
    type: str | None = None
    caseSensitive: bool = False
    multiline: bool = Field(False, description="The query may match across several lines.")
    contextLines: int = Field(0, ge=0, description="Lines before and after each match, at most 5.")
    mode: Literal["content", "count", "files"] = Field(
        "content", description="Matches, counts per file, or file names."
    )
    limit: int = Field(50, ge=1, description="At most 200.")
    offset: int = Field(0, ge=0)


class SearchText(ReadTool):
    name = "search_text"
    kind = "search"
    args = SearchTextArgs

    def title(self, args: dict[str, Any]) -> str:
        return f'Searching "{args.get("query", "…")}"'

    async def run(self, args: SearchTextArgs, workspace: Workspace) -> Output:
        notices = Notices()
        limit = notices.at_most(args.limit, workspace.limits.matches, "limit")
        context = notices.at_most(args.contextLines, 5, "contextLines")
        if args.lineRange is not None and args.file is None:
            raise ToolError("INVALID_INPUT", "lineRange needs file", "name the file whose lines you mean")
        if args.lineRange is not None and args.lineRange.start > args.lineRange.end:
            raise ToolError("INVALID_INPUT", f"lineRange starts at {args.lineRange.start}, after its end")
        suffixes = endings_of_type(args.type) if args.type is not None else None
        if args.type is not None and suffixes is None:
            known = ", ".join(language.types[0] if language.types else language.id for language in LANGUAGES)
            raise ToolError("INVALID_INPUT", f"type: there is no type {args.type!r}", f"types: {known}")
        lines = (args.lineRange.start, args.lineRange.end) if args.lineRange is not None else None
        expression = Expression(args.query, args.regex, args.caseSensitive, args.multiline)
        # Where files are shown, or numbers, no match is.
        most, offset = (limit, args.offset) if args.mode == "content" else (0, 0)
        selection = Selection(lines, context, most, offset)
        path = args.file if args.file is not None else args.path
        if path is not None and is_address(path):
            shown, text = await read_address(path, workspace)
            try:
                found = await on_thread(search_in_text, shown, text, expression, selection)
            except NeedsChildProcess:
                from north_lsp.workspace.search.search_child import InText

                asked = InText(shown, text, expression, selection)
                found = await _search_in_child(asked, float(workspace.limits.search_seconds))
        else:
            path = await _place(path, workspace, notices, must_be_file=args.file is not None)
            within = Within(path, args.glob, suffixes)
            found = await _search(workspace, expression, within, selection)
            await _note(found, workspace)
        return self._output(args, workspace, found, limit, context, notices)

    def _output(
        self,
        args: SearchTextArgs,
        workspace: Workspace,
        found: SearchResult,
        limit: int,
        context: int,
        notices: Notices,
    ) -> Output:
        notices += found.notices
        stopped = any(notice.startswith("the search ") for notice in found.notices)
        more_there = "+" if stopped else ""
        title = f"{self.title({'query': args.query})} - {found.total_matches}{more_there} matches"
        totals = {"totalMatches": found.total_matches, "filesSearched": found.files_searched}
        if args.mode != "content":
            named = list(found.counts.items())[args.offset : args.offset + limit]
            reached = len(found.counts) > args.offset + limit
            key = "counts" if args.mode == "count" else "files"
            rows = [{"path": path, "count": count} if key == "counts" else path for path, count in named]
            data = {key: rows, **totals, "truncated": reached or stopped, "limitReached": reached}
            return Output(title, with_meta(data, notices))
        matches = [
            {"path": hit.path, "line": hit.line, "column": hit.column, "text": hit.text}
            | ({"before": list(hit.before), "after": list(hit.after)} if context else {})
            for hit in found.matches
        ]
        reached = found.total_matches > args.offset + limit
        data = {"matches": matches, **totals, "truncated": found.truncated, "limitReached": reached}
        digest = None
        if len(matches) > _DIGEST:
            full = "\n".join(_row(hit.path, hit.line, hit.text) for hit in found.matches)
            more = f"the first {_DIGEST} of {len(matches)} matches"
            short = data | {"matches": matches[:_DIGEST], "truncated": True}
            digest = Digest(with_meta(short, notices), full, more, ((1, _DIGEST),))
        paths = ((_path_of(hit.path, workspace), hit.line) for hit in found.matches[:20] if not is_address(hit.path))
        places = tuple(Location(path, line) for path, line in paths if path is not None)
        return Output(title, with_meta(data, notices), locations=places, digest=digest)


def _path_of(shown: str, workspace: Workspace) -> Path | None:
    """Return the path of a hit; None for a file whose name cannot be written as a path, with a line break in it for
    example: such a file is found, but not opened."""
    try:
        return workspace.roots.resolve_readable(shown).path
    except ToolError:
        return None


async def _note(found: SearchResult, workspace: Workspace) -> None:
    """Remember what the model is about to be shown."""
    hits = found.matches[:_DIGEST] if workspace.settings.reading.digest else found.matches
    texts = await workspace.editor.unsaved_texts()

    def look() -> list[Shown]:
        rows: list[tuple[Path, int, str]] = []
        for hit in hits:
            path = _path_of(hit.path, workspace)
            if path is None:
                continue
            first = hit.line - len(hit.before)
            lines = (*hit.before, *hit.text.split("\n"), *hit.after)
            rows += [(path, number, line) for number, line in enumerate(lines, first)]
        return shown_of(rows, texts)

    for path, tag, ranges in await on_thread(look):
        workspace.seen.note(path, tag, ranges)


async def _place(path: str | None, workspace: Workspace, notices: Notices, *, must_be_file: bool) -> str | None:
    """Return how a search names the place that a model means, None for all. Raises ToolError."""
    if path is None:
        return None
    place, notice = await resolve_existing(path, workspace)
    notices += [notice] if notice is not None else []
    if must_be_file and await on_thread(os.path.isdir, place.path):
        raise ToolError("INVALID_INPUT", f"{place.relative} is a folder", "pass it as path, not as file")
    return workspace.roots.display_path(place.root, place.path.relative_to(place.root).as_posix())


async def _search(workspace: Workspace, expression: Expression, within: Within, selection: Selection) -> SearchResult:
    texts = await workspace.editor.unsaved_texts()
    seconds = float(workspace.limits.search_seconds)
    means = Means(texts.get, tuple(texts), trees=workspace.trees, ripgrep=find_ripgrep(), seconds=seconds)
    work = partial(search, workspace.roots, expression, within, selection)
    try:
        return await stoppable(lambda over: work(replace(means, should_stop=over)))
    except NeedsChildProcess:
        from north_lsp.workspace.search.search_child import InFiles

        within = replace(within, private=workspace.private)
        asked = InFiles(workspace.roots, expression, within, selection, texts, means.ripgrep, seconds)
        return await _search_in_child(asked, seconds)


async def _search_in_child(asked: InFiles | InText, seconds: float) -> SearchResult:
    """Search in a process that is killed when it takes too long or is no longer wanted. Raises ToolError."""
    from north_lsp.workspace.search.search_child import COMMAND, request, result

    told = await on_thread(request, asked)
    with anyio.move_on_after(seconds):
        ended = await anyio.run_process(COMMAND, input=told, check=False)
        if ended.returncode != 0:
            raise ToolError("INTERNAL", "the search ended early", "simplify the expression")
        return result(ended.stdout)
    notice = f"the search took longer than {seconds:.0f} seconds: avoid repetitions within repetitions"
    return SearchResult([], 0, 0, True, [notice], {})


def _row(path: str, line: int, text: str) -> str:
    return f"{path}:{line}: {text}"
