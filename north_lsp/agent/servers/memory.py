"""What is remembered of a server from one session to the next: the tools that it told last, what it said about using
them, and how it described each when that was first seen."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio.to_thread

from north_lsp.agent.ports.servers import OfferedTool, ServerSpec
from north_lsp.agent.servers.schema import usable_schema
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.server_cache import ServerCache
from north_lsp.storage.tools_seen import ToolsSeen


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """Stores what one server last said about its tools. `spec` is the server's entry as it is now."""

    cache: ServerCache
    seen: ToolsSeen
    spec: ServerSpec

    def recall(self) -> tuple[OfferedTool, ...]:
        """Return the tools that the server told last; empty if they are not known. Reads a file: for a thread."""
        found = []
        for row in self.cache.tools(self._fingerprint):
            match row:
                case {"name": str(name), "description": str(text), "schema": dict(schema), "onlyReads": bool(reads)}:
                    found.append(OfferedTool(name, text, usable_schema(schema), reads))
                case _:
                    pass
        return tuple(tool for tool in found if self.spec.offers(tool.name))

    def recall_instructions(self) -> str:
        """Return what the server said last about using it. Reads a file: for a thread."""
        return self.cache.instructions(self._fingerprint)

    async def keep(self, tools: tuple[OfferedTool, ...], instructions: str) -> None:
        """Keep the tools for the next session, and what is said about using them, as far as that is possible."""
        rows = [
            {"name": one.name, "description": one.description, "schema": one.schema, "onlyReads": one.only_reads}
            for one in tools
        ]
        with suppress(OSError):
            await anyio.to_thread.run_sync(self.cache.keep, self._fingerprint, rows, instructions)

    async def first_seen(self, tools: Sequence[OfferedTool]) -> Mapping[str, str]:
        """Return how the tools were described when they were first seen, as digests by name. Raises OSError,
        ValueError if that is not known."""
        now = {tool.name: described(tool) for tool in tools}
        return await anyio.to_thread.run_sync(self.seen.first, self._name, now)

    async def forget_first_seen(self) -> None:
        """Forget how the tools were first described, so that their next descriptions are trusted. Raises OSError,
        ValueError."""
        await anyio.to_thread.run_sync(self.seen.forget, self._name)

    @property
    def _fingerprint(self) -> str:
        """Return a fingerprint of the server's entry, without the values of variables."""
        return hashlib.sha256(f"{self.spec.origin} {self.spec.name} {self.spec.digest}".encode()).hexdigest()

    @property
    def _name(self) -> str:
        """Return a name for the server that lasts: an editor may give it another port, or another token, each time."""
        if self.spec.origin != "client":
            return self._fingerprint
        return hashlib.sha256(f"client {self.spec.name}".encode()).hexdigest()


def described(tool: OfferedTool) -> str:
    """Return a digest of all that a server says of a tool."""
    words = [tool.name, tool.description, tool.schema, tool.only_reads]
    return hashlib.sha256(json.dumps(words, sort_keys=True, default=str).encode()).hexdigest()
