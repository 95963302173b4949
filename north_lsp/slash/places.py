"""The commands for places in a conversation: the tree, going back, branches, copies, labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, CommandError, Reply, UsageError
from north_lsp.vocabulary import TREE_FILTERS

_WHAT = ("conversation", "files", "both")
_WAYS = ("overwrite", "merge")
_SUMMARY = "summarize"


class HostForPlaces(Protocol):
    """What commands about places in a conversation ask of a session. Every method may raise CommandError."""

    def prompts(self, command: str) -> str:
        """List the user's prompts with their numbers, for a command that takes one."""
        ...

    async def tree(self, filter: str, query: str) -> str:
        """Show all branches of the conversation, as far as they pass the filter and have the query's words."""
        ...

    async def rewind(self, place: str, what: str, conflicts: str, summary: str | None) -> Reply:
        """Go to before a prompt, or to another place; `what` is conversation, files or both. With `summary`, which may
        have instructions for it, what is left behind is summarized."""
        ...

    async def branch(self, place: str) -> Reply:
        """Copy the conversation up to before a prompt."""
        ...

    async def fork(self) -> Reply:
        """Copy the whole conversation."""
        ...

    def labels(self) -> str: ...

    def label(self, text: str) -> str:
        """Name the present place; an empty text takes the name away."""
        ...


async def _tree(host: HostForPlaces, words: Sequence[str]) -> Reply:
    filter, query = (words[0], words[1:]) if words and words[0] in TREE_FILTERS else ("default", words)
    return Reply(await host.tree(filter, " ".join(query)))


async def _rewind(host: HostForPlaces, words: Sequence[str]) -> Reply:
    if not words:
        return Reply(host.prompts("rewind"))
    usage = UsageError(
        "Name an entry by the number of a prompt or by an id that `/tree` shows; overwrite or merge is for files that "
        "were changed since."
    )
    place, *rest = words
    summary = " ".join(rest[rest.index(_SUMMARY) + 1 :]) if _SUMMARY in rest else None
    rest = rest[: rest.index(_SUMMARY)] if summary is not None else rest
    what = [word for word in rest if word in _WHAT]
    ways = [word for word in rest if word in _WAYS]
    if len(what) > 1 or len(ways) > 1 or len(what) + len(ways) != len(rest):
        raise usage
    if ways and what in ([], ["conversation"]):
        raise CommandError(f"`{ways[0]}` is about files: add `files` or `both`")
    if summary is not None and what == ["files"]:
        raise CommandError("files alone leave nothing of the conversation behind to summarize")
    return await host.rewind(place, (what or _WHAT)[0], (ways or ["skip"])[0], summary)


async def _branch(host: HostForPlaces, words: Sequence[str]) -> Reply:
    if not words:
        return Reply(host.prompts("branch"))
    if len(words) > 1:
        raise UsageError("Name an entry by the number of a prompt or by an id that `/tree` shows.")
    return await host.branch(words[0])


async def _fork(host: HostForPlaces, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return await host.fork()


async def _label(host: HostForPlaces, words: Sequence[str]) -> Reply:
    if not words:
        return Reply(host.labels())
    return Reply(host.label("" if list(words) == ["-"] else " ".join(words)))


PLACES = (
    Command("branch", "Start another conversation before one of your prompts", _branch, "[number]", is_harmless=True),
    Command("fork", "Copy this conversation, to continue both", _fork, is_harmless=True),
    Command("label", "Label this entry of the conversation; `-` removes the label", _label, "[name]"),
    Command(
        "rewind",
        "Go back to before one of your prompts, the conversation or its files",
        _rewind,
        "[number] [conversation|files|both] [overwrite|merge] [summarize [how]]",
    ),
    Command("tree", "Show the conversation with all its branches", _tree, "[filter] [words]", is_harmless=True),
)
