"""The commands for what North learns of a project."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, CommandError, Host, Reply


async def _learn(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise CommandError("/learn takes no arguments: it has a model explore this project and write its profile")
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
            raise CommandError("/memory takes `view`, `clear`, `reset`, `enqueue` or `rebuild`")


LEARNING = (
    Command("learn", "Have a model explore this project and write a profile of it for later prompts", _learn),
    Command(
        "memory",
        "Show what is remembered of earlier conversations, remove it, or have it written again",
        _memory,
        "[view|clear|reset|enqueue|rebuild]",
    ),
)
