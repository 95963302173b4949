"""`web_search`: searches the web with a provider that the user has configured."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.display import one_line
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.web.search.base import Query, Recency
from north_lsp.workspace.workspace import Workspace


class WebSearchArgs(Arguments):
    query: str = Field(min_length=1, max_length=2000)
    recency: Recency | None = None
    limit: int | None = Field(None, ge=1)
    num_search_results: int | None = Field(None, ge=1)
    max_tokens: int | None = Field(None, ge=1, le=100_000)
    temperature: float | None = Field(None, ge=0, le=2)


class WebSearch(Tool):
    name = "web_search"
    kind = "fetch"
    needs = frozenset({"network"})
    modes = frozenset({"ask", "agent", "plan"})
    args = WebSearchArgs

    def title(self, args: dict[str, Any]) -> str:
        return f'Searching the web for "{one_line(str(args.get("query", "…")), 100)}"'

    async def invoke(self, args: WebSearchArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        count, tokens = args.num_search_results, args.max_tokens
        return await host.search_web(Query(args.query, args.recency, args.limit, count, tokens, args.temperature))
