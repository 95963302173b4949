"""The commands for what the model is told besides the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError


class HostForContext(Protocol):
    """What commands about what a model is told ask of a session. Every method may raise CommandError."""

    async def context(self) -> str:
        """Say in Markdown what the next request has, part by part."""
        ...

    async def skills(self) -> str:
        """List skills, file commands and prompt templates, in Markdown."""
        ...

    async def rules(self) -> str:
        """List the rules and context files, with when they apply and why some do not."""
        ...

    async def set_rule(self, name: str, *, on: bool) -> str:
        """Switch a rule off or on in the user's settings."""
        ...


async def _context(host: HostForContext, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.context())


async def _rules(host: HostForContext, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(await host.rules())
        case ["off", name]:
            return Reply(await host.set_rule(name, on=False))
        case ["on", name]:
            return Reply(await host.set_rule(name, on=True))
        case _:
            raise UsageError


async def _skills(host: HostForContext, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError("`/skill:<name>` calls a skill.")
    return Reply(await host.skills())


CONTEXT = (
    Command(
        "context", "Show what the next request has, part by part, and where it comes from", _context, is_harmless=True
    ),
    Command(
        "skills",
        "Show skills, file commands and prompt templates, and where they come from",
        _skills,
        is_harmless=True,
    ),
    Command("rules", "Show the rules and context files, or switch a rule off or on", _rules, "[off|on <name>]"),
)
