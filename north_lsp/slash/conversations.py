"""The commands for conversations: finding, opening, naming and archiving them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError


class HostForConversations(Protocol):
    """What commands about other conversations ask of a session. Every method may raise CommandError."""

    async def conversations(self, query: str, *, everywhere: bool) -> str:
        """List the conversations of the project or of all, or those with the words of a query, in Markdown."""
        ...

    async def resume(self, target: str) -> str:
        """Have the editor open another conversation, by the beginning of its id or by words in it; empty asks which."""
        ...

    async def quit(self) -> str:
        """Have the client close this conversation."""
        ...

    async def begin_anew(self) -> str:
        """Have the editor begin a new conversation."""
        ...

    async def rename(self, title: str) -> str:
        """Give this conversation a title; return it as it is shown."""
        ...

    async def archive(self, id: str | None, *, archived: bool) -> str:
        """Hide a conversation (None: this one) from lists, or show it again."""
        ...

    async def delete_conversation(self, target: str) -> str:
        """Move another conversation to the trash, after asking: the one whose id begins so, or one with these
        words; empty asks which."""
        ...

    async def trash(self, query: str) -> str:
        """List the deleted conversations of the project, or those with the words of a query, in Markdown."""
        ...

    async def restore_conversation(self, target: str) -> str:
        """Put a deleted conversation back: the one whose id begins so, or one with these words."""
        ...


async def _conversations(host: HostForConversations, words: Sequence[str]) -> Reply:
    everywhere = "--all" in words[:1]
    return Reply(await host.conversations(" ".join(words[1:] if everywhere else words), everywhere=everywhere))


async def _resume(host: HostForConversations, words: Sequence[str]) -> Reply:
    return Reply(await host.resume(" ".join(words)))


async def _new(host: HostForConversations, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError("Type the first prompt in the new conversation.")
    return Reply(await host.begin_anew())


async def _quit(host: HostForConversations, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError("It closes this conversation and takes no arguments.")
    return Reply(await host.quit())


async def _rename(host: HostForConversations, words: Sequence[str]) -> Reply:
    title = " ".join(words).strip()
    if not title:
        raise UsageError("A title cannot be empty.")
    return Reply(f"This conversation is called **{await host.rename(title)}** now.")


async def _archive(host: HostForConversations, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(await host.archive(None, archived=True))
        case ["undo"]:
            return Reply(await host.archive(None, archived=False))
        case [id]:
            return Reply(await host.archive(id, archived=True))
        case ["undo", id]:
            return Reply(await host.archive(id, archived=False))
        case _:
            raise UsageError


async def _delete(host: HostForConversations, words: Sequence[str]) -> Reply:
    return Reply(await host.delete_conversation(" ".join(words)))


async def _restore(host: HostForConversations, words: Sequence[str]) -> Reply:
    if not words:
        return Reply(await host.trash(""))
    return Reply(await host.restore_conversation(" ".join(words)))


CONVERSATIONS = (
    Command("archive", "Hide a conversation from lists, or show it again", _archive, "[undo] [id]"),
    Command(
        "conversations",
        "Show the conversations of this project, or of all, or those with some words",
        _conversations,
        "[--all] [words]",
        is_harmless=True,
    ),
    Command(
        "delete", "Move another conversation to the trash, after asking", _delete, "[id or words]", is_harmless=True
    ),
    Command("new", "Begin a new conversation", _new, is_harmless=True),
    Command("quit", "Close this conversation; it stays stored", _quit, is_harmless=True),
    Command("rename", "Give this conversation a title", _rename, "<title>"),
    Command(
        "restore",
        "Show the deleted conversations, or put one of them back",
        _restore,
        "[id or words]",
        is_harmless=True,
    ),
    Command("resume", "Continue another conversation", _resume, "[id or words]", is_harmless=True),
)
