"""Conversations that are not saved: only in memory, with a folder for what cannot be there, which goes with them."""

import shutil
from pathlib import Path

from north_lsp.agent.session.environment import Environment
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import free_conversation_id

NOT_SAVED = "this conversation is not saved: it is gone when you close it. /export writes it to a file"
_SWITCH = "NORTH_NO_SESSION"


def unsaved_place(environment: Environment, root: Path) -> Path | None:
    """Return the folder of a new conversation that is not to be saved, a new one; None if it is to be saved."""
    is_off = environment.environ.get(_SWITCH, "").strip() not in ("", "0")
    if environment.of(root, lambda: False).settings.sessions.save and not is_off:
        return None
    folder = environment.locations.temporary
    return folder / f"unsaved-{free_conversation_id(folder)}"


def forget(conversation: Conversation) -> None:
    """Remove the folder of a conversation that was not saved. Best effort."""
    if not conversation.is_kept:
        shutil.rmtree(conversation.path.parent, ignore_errors=True)
