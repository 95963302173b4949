"""The commands for where conversations are kept."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, CommandError, Host, Reply

_LINES = 50
_MOST_LINES = 5000
_LEVELS = ("debug", "info", "warn", "error")
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


async def _log(host: Host, words: Sequence[str]) -> Reply:
    lines, level, event = _LINES, "debug", ""
    rest = list(words)
    while rest:
        match rest:
            case [number, *rest] if number.isdecimal() and 0 < int(number[:6]) <= _MOST_LINES:
                lines = int(number[:6])
            case ["--level", chosen, *rest] if chosen in _LEVELS:
                level = chosen
            case ["--event", chosen, *rest]:
                event = chosen
            case _:
                raise CommandError(
                    f"/log takes a number of lines up to {_MOST_LINES:,}, `--level` with {', '.join(_LEVELS)}, "
                    "and `--event` with the beginning of an event's name"
                )
    return Reply(await host.log(lines, level, event))


async def _storage(host: Host, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(await host.storage())
        case ["clean"]:
            return Reply(await host.clean_storage())
        case _:
            raise CommandError("/storage takes no arguments, or `clean`")


KEEPING = (
    Command(
        "log", "Show the end of North's own log", _log, "[lines] [--level <level>] [--event <name>]", is_harmless=True
    ),
    Command("move", "Continue this conversation, or all of a folder that is gone, elsewhere", _move, "[from] <folder>"),
    Command("salvage", "Copy what can be read of a damaged conversation into a new one", _salvage, is_harmless=True),
    Command(
        "storage",
        "Show what North keeps on your disk, or remove what it can do without",
        _storage,
        "[clean]",
        is_harmless=True,
    ),
)
