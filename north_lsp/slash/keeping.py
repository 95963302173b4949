"""The commands for where conversations are kept."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, CommandError, Host, Reply

_MOVE = "/move takes the folder in which this conversation continues, or `from` and a folder that is gone"


async def _move(host: Host, words: Sequence[str]) -> Reply:
    match words:
        case [] | ["from"]:
            raise CommandError(_MOVE)
        case ["from", *folder]:
            return Reply(await host.follow(" ".join(folder)))
        case _:
            return Reply(await host.move(" ".join(words)))


async def _salvage(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise CommandError(
            "/salvage takes no arguments: it copies what can be read of this conversation into a new one"
        )
    return Reply(await host.salvage())


KEEPING = (
    Command("move", "Continue this conversation, or all of a folder that is gone, elsewhere", _move, "[from] <folder>"),
    Command("salvage", "Copy what can be read of a damaged conversation into a new one", _salvage, is_harmless=True),
)
