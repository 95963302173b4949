"""The commands for what North learns of a project."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, Host, Reply, UsageError


async def _learn(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.learn())


async def _memory(host: Host, words: Sequence[str]) -> Reply:
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
        "Show what is remembered of earlier conversations, remove it, or have it written again",
        _memory,
        "[view|clear|reset|enqueue|rebuild]",
    ),
)
