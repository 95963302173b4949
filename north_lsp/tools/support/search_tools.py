"""`search_tools`: looks up tools that are listed by name only."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.tools.support.limits import Notices, with_meta
from north_lsp.workspace.workspace import Workspace

_MAX = 20


class SearchToolsArgs(Arguments):
    query: str = Field(min_length=1, description="What the tool should do, or its name.")
    limit: int = Field(5, ge=1, description="At most 20.")


class SearchTools(Tool):
    name = "search_tools"
    kind = "search"
    needs = frozenset({"read"})
    modes = frozenset({"ask", "agent", "plan"})
    parallel = True
    args = SearchToolsArgs

    def title(self, args: dict[str, Any]) -> str:
        return f'Looking for tools "{args.get("query", "…")}"'

    async def invoke(self, args: SearchToolsArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.look(partial(self._search, args, host))

    async def _search(self, args: SearchToolsArgs, host: Host[R]) -> Output:
        notices = Notices()
        limit = notices.at_most(args.limit, _MAX, "limit")
        found = host.find_tools(args.query, limit)
        if not found:
            raise ToolError(
                "NO_MATCH", f"no tool fits {args.query[:100]!r}", "use other words, or a name from the list"
            )
        rows = [{"name": one.name, "description": one.description, "parameters": dict(one.schema)} for one in found]
        title = f"{self.title({'query': args.query})} - {len(rows)} tools"
        return Output(title, with_meta({"tools": rows, "note": "they can be called from now on"}, notices))
