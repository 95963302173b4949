"""The commands for conversations: finding, opening, naming and archiving them."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, Host, Reply, UsageError


async def _conversations(host: Host, words: Sequence[str]) -> Reply:
    everywhere = "--all" in words[:1]
    return Reply(await host.conversations(" ".join(words[1:] if everywhere else words), everywhere=everywhere))


async def _resume(host: Host, words: Sequence[str]) -> Reply:
    return Reply(await host.resume(" ".join(words)))


async def _new(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError("Type the first prompt in the new conversation.")
    return Reply(await host.begin_anew())


async def _quit(host: Host, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError("It closes this conversation, and takes no words.")
    return Reply(await host.quit())


async def _rename(host: Host, words: Sequence[str]) -> Reply:
    title = " ".join(words).strip()
    if not title:
        raise UsageError("A title cannot be empty.")
    return Reply(f"This conversation is called **{await host.rename(title)}** now.")


async def _archive(host: Host, words: Sequence[str]) -> Reply:
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


async def _delete(host: Host, words: Sequence[str]) -> Reply:
    return Reply(await host.delete_conversation(" ".join(words)))


async def _restore(host: Host, words: Sequence[str]) -> Reply:
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
        "delete", "Move another conversation to the trash, after a question", _delete, "[id or words]", is_harmless=True
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
