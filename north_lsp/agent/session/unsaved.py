"""Conversations that are not saved: only in memory, with a folder for what cannot be there, which goes with them."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.agent.session.environment import Environment
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import free_conversation_id
from north_lsp.storage.files import private_directory
from north_lsp.storage.janitor import UNSAVED_FOLDER
from north_lsp.storage.switches import is_on

NOT_SAVED = "this conversation is not saved: it is gone when you close it. /export writes it to a file"
_SWITCH = "NORTH_NO_SESSION"
_held: dict[Path, int] = {}
"""Folders with a lock on each, which tells other processes that it is needed."""


def unsaved_place(environment: Environment, root: Path) -> Path | None:
    """Create the folder of a new conversation that is not to be saved, and hold it; None if it is to be saved."""
    saves = environment.of(root, lambda: False).settings.sessions.save
    if saves and not is_on(environment.environ, _SWITCH):
        return None
    parent = environment.locations.temporary
    folder = parent / f"{UNSAVED_FOLDER}{free_conversation_id(parent)}"
    with suppress(OSError):
        _held[folder] = systems.lock_folder(private_directory(folder))
    return folder


def forget(conversation: Conversation) -> None:
    """Remove the folder of a conversation that was not saved. Best effort."""
    if not conversation.is_kept:
        folder = conversation.path.parent
        if (held := _held.pop(folder, None)) is not None:
            os.close(held)
        shutil.rmtree(folder, ignore_errors=True)
