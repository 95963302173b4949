"""What can be done about a conversation that cannot be continued."""

from __future__ import annotations

from north_lsp.agent.log.header import is_newer
from north_lsp.storage.conversation import Conversation

_EXPORT = "`/export` writes what is in it to a file"


def way_out(conversation: Conversation) -> str:
    """Return what helps: to be said after the reason."""
    if conversation.is_gone:
        return f"`/restore {conversation.id}` puts it back, and {_EXPORT}"
    if is_newer(conversation.header):
        return f"that one continues it, and {_EXPORT}"
    return "`/salvage` copies what can be read into a new conversation"
