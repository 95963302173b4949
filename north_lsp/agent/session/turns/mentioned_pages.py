"""Pages of the web that a prompt mentions, fetched as the tool `web_fetch` fetches them: with the same questions."""

from __future__ import annotations

from north_lsp.agent.log.log import Log
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.web_requests import FetchRequest

_MOST_BYTES = 60_000


@dataclass(frozen=True)
class MentionedPages:
    """Fetches the pages that one conversation's prompts mention."""

    log: Log
    means: TurnMeans
    environment: Environment

    async def read(self, address: str) -> str:
        """Return the text of a page. Raises ToolError."""
        if not self.environment.settings.web.fetch_enabled:
            raise ToolError("UNAVAILABLE", "the setting `web_fetch.enabled` is off")
        pages = (await self.means.parts()).tools.pages
        return await pages.attach(self.log.reserve_id(), FetchRequest(address, most=_MOST_BYTES))
