"""Reads what prompts mention and attach: files, internal addresses, servers' resources, pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from north_lsp.agent.context.mentions import with_mentions
from north_lsp.agent.log.messages import PromptPart
from north_lsp.agent.log.prompt import Keep, Part, to_log
from north_lsp.agent.session.services.settings import SessionSettings

_Read = Callable[[str], Awaitable[str]]


class PromptReader:
    """Reads the prompts of one session. `keep` stores pictures; `resource` reads what the user has named of an MCP
    server, `page` what they have named of the web, and both raise ToolError."""

    def __init__(self, settings: SessionSettings, keep: Keep, resource: _Read, page: _Read) -> None:
        self._settings = settings
        self._keep = keep
        self._resource = resource
        self._page = page

    async def with_mentions(self, parts: tuple[Part, ...]) -> tuple[Part, ...]:
        """Return the parts of a prompt, followed by what its words mention and is not attached already."""
        return await with_mentions(parts, self._settings.workspace, self._page)

    async def to_log(self, parts: tuple[Part, ...]) -> list[PromptPart]:
        """Convert the parts of a prompt to what is stored."""
        return await to_log(parts, self._settings.workspace, self._keep, self._resource)
