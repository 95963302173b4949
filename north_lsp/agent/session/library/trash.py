"""The deleted conversations of all projects: listed, and put back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.session.library.library import CANDIDATES, NoConversation, SeveralConversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.summaries import Summary
from north_lsp.storage.trash import Trashed, restore, trashed, trashed_ids
from north_lsp.workspace.project_root import project_hash


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
        wanted = (
            row
            for row in trashed(self._store)
            if (folder is None or _is_about(row.summary, folder)) and _has(row.summary, words)
        )
        return list(islice(wanted, limit))

    def _restore(self, target: str) -> Trashed:
        ids = trashed_ids(self._store, target) if target else []
        if target in ids:
            return restore(self._store, target)
        if not ids:
            raise NoConversation(f"no conversation in the trash starts with {target[:64]!r}")
        if len(ids) > 1:
            raise SeveralConversations(target, self._newest(ids[:CANDIDATES]))
        return restore(self._store, ids[0])

    def _newest(self, ids: Sequence[str]) -> list[Summary]:
        """Return what there is to say of conversations: of several with one id, of the one that was deleted last."""
        found: dict[str, Summary] = {}
        for row in trashed(self._store):
            if row.id in ids:
                found.setdefault(row.id, row.summary)
            if len(found) == len(ids):
                break
        return list(found.values())


def _is_about(summary: Summary, folder: Path) -> bool:
    return summary.repo_hash == project_hash(folder) or folder in (summary.cwd, summary.repo_root)


def _has(summary: Summary, words: list[str]) -> bool:
    said = (summary.id, summary.title, summary.first_prompt, summary.last_prompt)
    text = "\n".join(part for part in said if part).casefold()
    return all(word in text for word in words)
