"""Which servers of a trusted project may start: those that it had when the user trusted it, and those that the user
has said yes to since, as they were written then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Literal

import anyio
import anyio.to_thread

from north_lsp.agent.ports.editor import Choice, UserInterface
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.display import fenced, one_line, visible
from north_lsp.storage.entries import new_entry_id
from north_lsp.storage.server_choices import ServerChoices

Unknown = Literal["new", "changed"]
"""Why the user has to be asked about a server: the project did not have it before, or it was written differently."""

_START = (("start", "Start it"), ("not", "Leave it off"))
_SINCE: Mapping[Unknown, str] = {
    "new": "is new in this project since you trusted it",
    "changed": "has changed since you trusted it",
}


class Consent:
    """Decides which of a project's servers may start, and asks the user about new ones. `told` is told what could not
    be stored, which applies to this session anyway."""

    def __init__(
        self, choices: ServerChoices, editor: UserInterface, told: Callable[[OSError], Awaitable[None]]
    ) -> None:
        self._choices = choices
        self._editor = editor
        self._told = told
        self._is_looked_at = False
        self._agreed: dict[str, str] = {}  # in this session
        self._asked: set[tuple[str, str]] = set()
        self._asking = anyio.Lock()

    async def look_at(self, specs: Iterable[ServerSpec]) -> None:
        """Let the servers start that a project has when it is looked at for the first time with the user's trust."""
        if self._is_looked_at or await anyio.to_thread.run_sync(self._choices.is_looked_at):
            return
        self._is_looked_at = True
        await self._keep({spec.name: spec.digest for spec in specs})

    async def lacks(self, spec: ServerSpec) -> Unknown | None:
        """Return why a server may not start without a question; None if it may."""
        stored = (await anyio.to_thread.run_sync(self._choices.started)).get(spec.name)
        before = [one for one in (stored, self._agreed.get(spec.name)) if one is not None]
        if spec.digest in before:
            return None
        return "changed" if before else "new"

    async def give(self, spec: ServerSpec) -> None:
        """Let a server start as it is written now: the user has said so."""
        await self._keep({spec.name: spec.digest})

    async def ask(self, spec: ServerSpec, why: Unknown, still_there: Callable[[], bool]) -> bool:
        """Ask about a server, once, and one after the other; return whether it may start. One that is not
        `still_there` when its turn comes is not asked about."""
        if (spec.name, spec.digest) in self._asked:
            return False
        self._asked.add((spec.name, spec.digest))
        async with self._asking:
            if not still_there():
                self._asked.discard((spec.name, spec.digest))
                return False
            question = f"The MCP server {spec.name} {_SINCE[why]}. Start it?"
            detail = f"{one_line(spec.source, 300)} defines it as follows:\n\n{fenced(visible(spec.written), 'json')}"
            choice = Choice(f"mcp-{new_entry_id(())}", question, _START, detail)
            answer = await self._editor.choose(choice)
        if answer is None:  # nobody did, or nobody can be asked
            text = (
                f"the MCP server {spec.name} {_SINCE[why]}, so it is not started: `/mcp enable {spec.name}` starts it"
            )
            await self._editor.show(Notice("info", text))
        if answer != "start":
            return False
        await self.give(spec)
        return True

    async def _keep(self, servers: Mapping[str, str]) -> None:
        self._agreed.update(servers)
        try:
            await anyio.to_thread.run_sync(self._choices.note_started, servers)
        except OSError as error:
            await self._told(error)
