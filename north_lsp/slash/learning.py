"""The commands for what North learns of a project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, MemoryAction, Reply, UsageError


class HostForLearning(Protocol):
    """What commands about what North learns ask of a session. Every method may raise CommandError."""

    async def learn(self) -> str:
        """Have the project explored for its profile; return in words what came of it."""
        ...

    async def memory(self, action: MemoryAction) -> str:
        """Show what is remembered of the project (`view`), remove it after asking (`clear`), have the work on it
        done soon (`enqueue`), or all of it again and now (`rebuild`)."""
        ...


async def _learn(host: HostForLearning, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.learn())


async def _memory(host: HostForLearning, words: Sequence[str]) -> Reply:
    match words:
        case [] | ["view"]:
            return Reply(await host.memory("view"))
        case ["clear"] | ["reset"]:
            return Reply(await host.memory("clear"))
        case ["enqueue"]:
            return Reply(await host.memory("enqueue"))
        case ["rebuild"]:
            return Reply(await host.memory("rebuild"))
        case _:
            raise UsageError


LEARNING = (
    Command("learn", "Have a model explore this project and write a profile of it for later prompts", _learn),
    Command(
        "memory",
        "Show what is remembered from earlier conversations, remove it, or have it written again",
        _memory,
        "[view|clear|reset|enqueue|rebuild]",
    ),
)
