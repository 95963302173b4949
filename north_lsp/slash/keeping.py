"""The commands for where conversations are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError

_LINES = 50
_MOST_LINES = 5000
_LEVELS = ("debug", "info", "warn", "error")


class HostForKeeping(Protocol):
    """What commands about what is stored ask of a session. Every method may raise CommandError."""

    async def move(self, folder: str) -> str:
        """Have this conversation continue in another folder."""
        ...

    async def follow(self, folder: str) -> str:
        """Have the conversations of a folder that is gone continue in this one."""
        ...

    async def salvage(self) -> str:
        """Copy what can be read of this conversation into a new one."""
        ...

    async def log(self, lines: int, level: str, event: str) -> str:
        """Show the end of North's log: what is at or above a level, and whose name begins with `event`."""
        ...

    async def storage(self) -> str:
        """Show what North keeps, by area, in Markdown."""
        ...

    async def clean_storage(self) -> str:
        """Remove what North can do without, after asking."""
        ...


async def _move(host: HostForKeeping, words: Sequence[str]) -> Reply:
    match words:
        case [] | ["from"]:
            raise UsageError
        case ["from", *folder]:
            return Reply(await host.follow(" ".join(folder)))
        case _:
            return Reply(await host.move(" ".join(words)))


async def _salvage(host: HostForKeeping, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(await host.salvage())


async def _log(host: HostForKeeping, words: Sequence[str]) -> Reply:
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
                raise UsageError(f"There can be up to {_MOST_LINES:,} lines; the levels are {', '.join(_LEVELS)}.")
    return Reply(await host.log(lines, level, event))


async def _storage(host: HostForKeeping, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(await host.storage())
        case ["clean"]:
            return Reply(await host.clean_storage())
        case _:
            raise UsageError


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
