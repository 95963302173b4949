"""The commands that make room in a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError

_DEFAULT_LAST = 10
_MOST_LAST = 100


class HostForCompaction(Protocol):
    """What commands about making room ask of a session. Every method may raise CommandError."""

    async def compact(self, instructions: str, keep_last: int | None) -> Reply:
        """Have the older part of the conversation summarized; `keep_last` is how many of the last messages stay, None
        for as many as are short enough."""
        ...

    async def hand_over(self, focus: str) -> Reply:
        """Begin another conversation with a summary of this one; `focus` is what matters most there."""
        ...


async def _compact(host: HostForCompaction, words: Sequence[str]) -> Reply:
    return await host.compact(" ".join(words).strip(), None)


async def _summarize(host: HostForCompaction, words: Sequence[str]) -> Reply:
    match [part for word in words for part in word.split("=", 1)]:
        case []:
            return await host.compact("", _DEFAULT_LAST)
        case ["--keep-last", number] if number.isdecimal() and int(number[:4]) <= _MOST_LAST:
            return await host.compact("", int(number[:4]))
        case _:
            raise UsageError(f"The number must be between 0 and {_MOST_LAST}.")


async def _handoff(host: HostForCompaction, words: Sequence[str]) -> Reply:
    return await host.hand_over(" ".join(words).strip())


COMPACTION = (
    Command(
        "compact",
        "Summarize the older part of this conversation, to make room",
        _compact,
        "[what the summary should keep]",
        takes_text=True,
    ),
    Command(
        "handoff",
        "Continue in a new conversation, with a summary of this one",
        _handoff,
        "[what matters]",
        takes_text=True,
    ),
    Command("summarize", "Summarize all but the last messages", _summarize, "[--keep-last <number>]"),
)
