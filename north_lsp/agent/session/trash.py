"""The deleted conversations of all projects: listed, and put back."""

from functools import partial
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.session.library import CANDIDATES, NoConversation, SeveralConversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.summaries import Summary
from north_lsp.storage.trash import Trashed, restore, trashed
from north_lsp.workspace.roots import project_hash


class Trash:
    """The trash of one store."""

    def __init__(self, store: Locations) -> None:
        self._store = store

    async def listed(self, query: str = "", folder: Path | None = None, limit: int | None = None) -> list[Trashed]:
        """List deleted conversations, the one that was deleted last first: those about a folder, or all, that have all
        words of the query in their title or prompts."""
        return await anyio.to_thread.run_sync(partial(self._listed, query, folder, limit))

    async def restore(self, target: str) -> Trashed:
        """Put back the conversation whose id begins so. Raises NoConversation, SeveralConversations, NotRestored,
        ConversationBusy, OSError, and UnknownConversation if it went meanwhile."""
        return await anyio.to_thread.run_sync(self._restore, target.strip())

    def _listed(self, query: str, folder: Path | None, limit: int | None) -> list[Trashed]:
        words = query.casefold().split()
        rows = [row for row in trashed(self._store) if folder is None or _is_about(row.summary, folder)]
        return [row for row in rows if _has(row.summary, words)][:limit]

    def _restore(self, target: str) -> Trashed:
        ids = dict.fromkeys(row.id for row in trashed(self._store) if target and row.id.startswith(target))
        if target in ids:
            return restore(self._store, target)
        if not ids:
            raise NoConversation(f"no conversation in the trash starts with {target[:64]!r}")
        if len(ids) > 1:
            newest = {row.id: row.summary for row in reversed(trashed(self._store)) if row.id in ids}
            raise SeveralConversations(target, [newest[id] for id in ids if id in newest][:CANDIDATES])
        return restore(self._store, next(iter(ids)))


def _is_about(summary: Summary, folder: Path) -> bool:
    return summary.repo_hash == project_hash(folder) or folder in (summary.cwd, summary.repo_root)


def _has(summary: Summary, words: list[str]) -> bool:
    said = (summary.id, summary.title, summary.first_prompt, summary.last_prompt)
    text = "\n".join(part for part in said if part).casefold()
    return all(word in text for word in words)
