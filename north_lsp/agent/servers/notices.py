"""Tells the user about MCP servers that are not there, each thing once."""

from __future__ import annotations

from typing import Literal

from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.agent.servers.server import Server

Held = Literal["off", "untrusted", "new", "changed", "unusable"]
"""Why a server is not started: the user switched it off, the project is not trusted, it is not what the user trusted,
or it is written in a way that cannot be used."""


class ServerNotices:
    """The notices of one session."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self._told: set[str] = set()
        self._closed = False

    def is_first(self, key: str) -> bool:
        """Tell whether something has not been told yet; it counts as told from now on."""
        is_first = key not in self._told
        self._told.add(key)
        return is_first

    async def tell(self, key: str, level: Literal["info", "warning"], text: str) -> None:
        """Show a text, unless it was shown before."""
        if self.is_first(key):
            await self.show(Notice(level, text))

    async def tell_held(self, spec: ServerSpec, held: Held) -> None:
        """Say why a server is not started, unless the user knows."""
        match held:
            case "untrusted":
                text = (
                    f"the MCP server {spec.name} of this project ({spec.source}) is not started: `/trust on` allows it"
                )
                await self.tell(f"untrusted {spec.name}", "info", text)
            case "unusable":
                text = f"the MCP server {spec.name} ({spec.source}) cannot be used: {spec.problem}"
                await self.tell(f"unusable {spec.name} {spec.problem}", "warning", text)
            case "off" | "new" | "changed":
                pass

    def of_state(self, server: Server) -> Notice | None:
        """Return what there is to say about a server that is not available, or is again."""
        name = server.spec.name
        key = f"down {name}"
        match server.state:
            case "failed" | "lost" if self.is_first(key):
                return Notice("warning", f"the MCP server {name} is not available: {server.error}. `/mcp` shows more")
            case "ready" if key in self._told:
                self._told.discard(key)
                return Notice("info", f"the MCP server {name} is available again")
            case _:
                return None

    async def show(self, notice: Notice) -> None:
        if not self._closed:
            await self._editor.show(notice)

    def close(self) -> None:
        """Show nothing any more."""
        self._closed = True
