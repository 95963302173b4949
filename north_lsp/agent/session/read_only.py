"""What can be done about a conversation that cannot be continued."""

from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import VERSION

_EXPORT = "`/export` writes what is in it to a file"


def way_out(conversation: Conversation) -> str:
    """Return what helps: to be said after the reason."""
    if conversation.is_gone:
        return f"`/restore {conversation.id}` puts it back, and {_EXPORT}"
    version = conversation.header.get("version")
    if isinstance(version, int) and version > VERSION:
        return f"that one continues it, and {_EXPORT}"
    return "`/salvage` copies what can be read into a new conversation"
