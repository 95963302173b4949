"""The commands that make room in a conversation."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, Host, Reply, UsageError

_DEFAULT_LAST = 10
_MOST_LAST = 100


async def _compact(host: Host, words: Sequence[str]) -> Reply:
    return await host.compact(" ".join(words).strip(), None)


async def _summarize(host: Host, words: Sequence[str]) -> Reply:
    match [part for word in words for part in word.split("=", 1)]:
        case []:
            return await host.compact("", _DEFAULT_LAST)
        case ["--keep-last", number] if number.isdecimal() and int(number[:4]) <= _MOST_LAST:
            return await host.compact("", int(number[:4]))
        case _:
            raise UsageError(f"The number is from 0 to {_MOST_LAST}.")


async def _handoff(host: Host, words: Sequence[str]) -> Reply:
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
