"""`web_fetch`: fetches one page of the web."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from north_lsp.display import one_line
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import Host, Output, R, Tool
from north_lsp.tools.web_requests import FetchRequest
from north_lsp.workspace.workspace import Workspace

_MOST = 1_000_000


class WebFetchArgs(Arguments):
    url: str = Field(min_length=1)
    prompt: str | None = Field(None, max_length=10_000, description="A question: only its answer comes back.")
    maxBytes: int = Field(100_000, ge=1, le=_MOST)
    raw: bool = Field(False, description="Not as Markdown.")


class WebFetch(Tool):
    name = "web_fetch"
    kind = "fetch"
    needs = frozenset({"network"})
    modes = frozenset({"ask", "agent", "plan"})
    args = WebFetchArgs

    def title(self, args: dict[str, Any]) -> str:
        return f"Fetching {one_line(str(args.get('url', '…')), 200)}"

    async def invoke(self, args: WebFetchArgs, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.fetch(FetchRequest(args.url, (args.prompt or "").strip(), args.maxBytes, args.raw))
