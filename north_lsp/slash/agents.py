"""The commands for agents and their tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError


class HostForAgents(Protocol):
    """What commands about agents ask of a session. Every method may raise CommandError."""

    async def agents(self) -> str:
        """List the agents that a model can use, with where each comes from, in Markdown."""
        ...

    def draft_of_agent(self, text: str) -> str:
        """Return the prompt that has a model write an agent's file."""
        ...

    async def tasks(self) -> str:
        """List what agents work on, and have worked on, in Markdown."""
        ...

    async def task(self, id: str) -> str:
        """Return the conversation of an agent, in Markdown."""
        ...

    def cancel_task(self, id: str) -> str: ...


async def _agents(host: HostForAgents, words: Sequence[str]) -> Reply:
    first, _, rest = (words[0] if words else "").partition(" ")
    if not words:
        return Reply(await host.agents())
    if first == "new" and rest.strip():
        return Reply("", host.draft_of_agent(rest.strip()))
    raise UsageError


async def _tasks(host: HostForAgents, words: Sequence[str]) -> Reply:
    match list(words):
        case []:
            return Reply(await host.tasks())
        case ["cancel", id]:
            return Reply(host.cancel_task(id))
        case ["show", id]:
            return Reply(await host.task(id))
        case _:
            raise UsageError


AGENTS = (
    Command(
        "agents", "Show the agents that a model can use, or have one written", _agents, "[new <what it does>]",
        takes_text=True,
    ),
    Command("tasks", "Show what agents work on, the conversation of one, or cancel one", _tasks, "[show|cancel <id>]"),
)  # fmt: skip
