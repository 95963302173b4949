"""Searches the web for a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

import anyio.to_thread

from north_lsp.agent.log.call_details import details_of_search
from north_lsp.agent.ports.events import CallRunning, Notice
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.web.means import WebMeans
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.tools.base import Output
from north_lsp.web.search.base import Query
from north_lsp.web.search.shown import shown


@dataclass(frozen=True)
class WebSearcher:
    """Searches for one session. What has a secret in it is not searched for; `told` are the notices that the user has
    had."""

    means: WebMeans
    has_secret: Callable[[dict[str, object]], bool]
    ports: Ports
    told: set[str] = field(default_factory=set)

    async def search(self, context: TurnContext, call: ToolCall, title: str, query: Query) -> Output:
        """Search, and tell the user once in a conversation who is asked. Raises ToolError."""
        sent: dict[str, object] = {"query": query.text}
        if await anyio.to_thread.run_sync(self.has_secret, sent):
            raise ToolError("DENIED", "the query has a secret of the user in it", "search without it")
        chain = self.means.chain(context.settings)
        await self.ports.show(CallRunning(call.id))
        if usable := chain.usable():
            await self._tell("info", f"Web searches go to {usable[0].title}.")
        searched = await chain.search(query)
        if searched.notice:
            await self._tell("warning", searched.notice)
        found, failures = searched.found, [f"{name}: {reason}" for name, reason in searched.failures]
        if found is None:
            details = details_of_search(
                searched.provider, (), "; ".join(failures) or "no search provider is configured"
            )
            return Output(f"{title} - failed", text=shown(searched), failed=True, details=details)
        what = f"{title} - {len(found.sources)} pages by {searched.title}"
        details = details_of_search(searched.provider, [(one.title, one.url) for one in found.sources])
        return Output(what, text=shown(searched), details=details)

    async def _tell(self, level: str, text: str) -> None:
        if text not in self.told:
            self.told.add(text)
            await self.ports.show(Notice("warning" if level == "warning" else "info", text))
