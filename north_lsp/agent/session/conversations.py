"""Lists and deletes stored conversations, for clients."""

from functools import partial
from pathlib import Path

import anyio.to_thread

from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.listing import Summary, delete_conversation, list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.workspace.roots import project_hash


class Conversations:
    """The conversations of all projects, in one store."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations

    async def listed(self, folder: Path | None = None) -> list[Summary]:
        """List conversations, the newest first, without archived ones; only those of `folder` if it is given."""
        find = partial(list_conversations, self._locations, cwd=folder)
        return [summary for summary in await anyio.to_thread.run_sync(find) if not summary.archived]

    async def of_project(self, root: Path) -> list[Summary]:
        """List the conversations of a project, the newest first, including archived ones."""
        find = partial(list_conversations, self._locations, repo_hash=project_hash(root))
        return await anyio.to_thread.run_sync(find)

    async def delete(self, id: str) -> None:
        """Move everything of a conversation to the trash, if it exists. Raises OSError."""
        if valid_conversation_id(id):
            await anyio.to_thread.run_sync(delete_conversation, self._locations, id)
