"""Lists and deletes stored conversations, for clients."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.session.navigation.navigation import Copied, fork
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.conversation_index import Archived
from north_lsp.storage.copying import Place
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.errors import UnknownConversation
from north_lsp.storage.listing import (
    Summary,
    delete_conversation,
    delete_idle_conversation,
    is_open,
    list_conversations,
)
from north_lsp.storage.locations import Locations
from north_lsp.storage.projects import read_project
from north_lsp.workspace.identity import remembered
from north_lsp.workspace.project_root import project_hash

if TYPE_CHECKING:
    from north_lsp.storage.importing import Imported


class Conversations:
    """The conversations of all projects, in one store."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations

    async def has(self, id: str) -> bool:
        """Return whether there is a stored conversation with this id."""
        path = self._locations.conversations / f"{id}.jsonl"
        return valid_conversation_id(id) and await anyio.to_thread.run_sync(path.is_file)

    async def listed(self, folder: Path | None = None, archived: Archived = "hidden") -> list[Summary]:
        """List conversations, the newest first; only those of `folder` if it is given."""
        return await anyio.to_thread.run_sync(self._listed, folder, archived)

    def _listed(self, folder: Path | None, archived: Archived) -> list[Summary]:
        wanted = {"hidden": (False,), "shown": (False, True), "only": (True,)}[archived]
        rows = [row for row in list_conversations(self._locations, cwd=folder) if row.archived in wanted]
        return rows if folder is None else [row for row in rows if not is_of_another(self._locations, row, folder)]

    async def of_project(self, root: Path) -> list[Summary]:
        """List the conversations of a project, the newest first, including archived ones."""
        find = partial(list_conversations, self._locations, repo_hash=project_hash(root))
        return await anyio.to_thread.run_sync(find)

    async def fork(self, id: str, root: Path | None = None) -> Copied:
        """Copy a stored conversation, into the project of a folder if one is given. Raises UnknownConversation,
        NotCopied, OSError."""
        source = await anyio.to_thread.run_sync(Conversation.open, self._locations, id)
        return await anyio.to_thread.run_sync(fork, Log(source), self._locations, root)

    async def salvage(self, id: str, root: Path) -> Imported:
        """Copy what can be read of a conversation into a new one. Raises ValueError if nothing can be,
        UnknownConversation, OSError."""
        from north_lsp.storage.importing import import_log

        if not valid_conversation_id(id):
            raise UnknownConversation(id)
        path = self._locations.conversations / f"{id}.jsonl"
        copy = partial(import_log, self._locations, path, Place(root, project_hash(root)), salvage=True)
        try:
            return await anyio.to_thread.run_sync(copy)
        except FileNotFoundError:
            raise UnknownConversation(id) from None

    async def import_log(self, path: Path, root: Path, *, salvage: bool) -> Imported:
        """Copy a log from anywhere into a new conversation; with `salvage`, also what can be read of a damaged one.
        Raises NotImported, OSError."""
        from north_lsp.storage.importing import import_log

        copy = partial(import_log, self._locations, path, Place(root, project_hash(root)), salvage=salvage)
        return await anyio.to_thread.run_sync(copy)

    async def delete(self, id: str) -> None:
        """Move everything of a conversation to the trash, if it exists. Raises OSError."""
        if valid_conversation_id(id):
            await anyio.to_thread.run_sync(delete_conversation, self._locations, id)

    async def delete_idle(self, id: str) -> None:
        """Do the same with one that nobody has open. Raises ConversationBusy, OSError."""
        if valid_conversation_id(id):
            await anyio.to_thread.run_sync(delete_idle_conversation, self._locations, id)

    async def is_open(self, id: str) -> bool:
        """Return whether a process writes a conversation now, this one included."""
        return await anyio.to_thread.run_sync(is_open, self._locations, id)


def is_of_another(locations: Locations, row: Summary, folder: Path) -> bool:
    """Tell whether a conversation is about another repository, which is gone and whose inode this folder got."""
    if row.repo_hash in (None, project_hash(folder)):
        return False
    former = read_project(locations, row.repo_hash)
    if former is None or former.identity.commit is None:
        return False
    commit = remembered(locations, folder).identity.commit
    return commit is not None and commit != former.identity.commit
