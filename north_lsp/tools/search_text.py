"""`search_text`: a text or a pattern in the files of the workspace."""

import threading
from functools import partial
from typing import Any

import anyio.to_thread
from pydantic import Field

from north_lsp.tools.base import Location, Output, ReadTool, Workspace
from north_lsp.tools.registry import Arguments
from north_lsp.tools.texts import resolve_open
from north_lsp.workspace.search import search


class SearchTextArgs(Arguments):
    query: str = Field(min_length=1)
    regex: bool = False
    path: str | None = Field(None, description="A file or folder to search in.")
    glob: str | None = Field(None, description="Only files whose path matches, for example `*.py`.")
    caseSensitive: bool = False
    contextLines: int = Field(0, ge=0, le=5)
    limit: int = Field(50, ge=1, le=200)
    offset: int = Field(0, ge=0)


class SearchText(ReadTool):
    name = "search_text"
    kind = "search"
    args = SearchTextArgs

    def title(self, args: dict[str, Any]) -> str:
        return f'Searching "{args.get("query", "…")}"'

    async def run(self, args: SearchTextArgs, workspace: Workspace) -> Output:
        if args.path is not None:
            await resolve_open(args.path, workspace)
        stopped = threading.Event()
        texts = await workspace.unsaved_texts()
        work = partial(
            search,
            workspace.roots,
            args.query,
            regex=args.regex,
            path=args.path,
            glob=args.glob,
            case_sensitive=args.caseSensitive,
            context_lines=args.contextLines,
            limit=args.limit,
            offset=args.offset,
            read=texts.get,
            should_stop=stopped.is_set,
        )
        try:
            found = await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            stopped.set()
        data: dict[str, object] = {
            "matches": [
                {"path": hit.path, "line": hit.line, "column": hit.column, "text": hit.text}
                | ({"before": list(hit.before), "after": list(hit.after)} if args.contextLines else {})
                for hit in found.matches
            ],
            "totalMatches": found.total_matches,
            "filesSearched": found.files_searched,
            "truncated": found.truncated,
        }
        if found.notices:
            data["notices"] = list(found.notices)
        places = tuple(Location(workspace.roots.resolve(hit.path).path, hit.line) for hit in found.matches[:20])
        return Output(f"{self.title({'query': args.query})} - {found.total_matches} matches", data, locations=places)
