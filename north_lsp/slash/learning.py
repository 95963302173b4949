"""The commands for what North learns of a project."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, CommandError, Host, Reply


async def _learn(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise CommandError("/learn takes no arguments: it has a model explore this project and write its profile")
    return Reply(await host.learn())


LEARNING = (Command("learn", "Have a model explore this project and write a profile of it for later prompts", _learn),)
