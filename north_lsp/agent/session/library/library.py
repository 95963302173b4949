"""The stored conversations of all projects: listed, searched, picked out, named, archived; and the prompts sent so far.

A conversation that is open here is named and archived by its session instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.session.keeping.saved import title_of
from north_lsp.agent.session.library.conversations import is_of_another
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.conversation_index import Archived, ConversationIndex, Wanted
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.errors import UnknownConversation
from north_lsp.storage.locations import Locations
from north_lsp.storage.masking import KEY_FORMS, MASK
from north_lsp.storage.prompt_history import OldPrompt, PromptHistory
from north_lsp.storage.search import Results, Search
from north_lsp.storage.summaries import Summary
from north_lsp.storage.windows import last_of

_T = TypeVar("_T")
CANDIDATES = 10
QUICK_LIST = 20


class NoConversation(LookupError):
    """No conversation fits what the user typed; the text says so."""


class SeveralConversations(LookupError):
    """Several conversations fit; `candidates` are the newest of them."""

    def __init__(self, target: str, candidates: Sequence[Summary]) -> None:
        super().__init__(f"several conversations start with {target[:64]!r}")
        self.candidates = candidates


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look: in the conversations about one folder, or in all (None)."""

    folder: Path | None = None
    archived: Archived = "hidden"
    limit: int = QUICK_LIST
    start: int = 0

    @property
    def wanted(self) -> Wanted:
        return Wanted(None, self.folder, self.archived, self.limit, self.start)


class Library:
    """The library in one store."""

    def __init__(self, store: Locations) -> None:
        self._store = store
        self._index = ConversationIndex(store)

    async def listed(self, scope: Scope) -> list[Summary]:
        """List conversations, the newest first."""
        return await _on_thread(partial(self._listed, scope))

    async def search(self, query: str, scope: Scope) -> Results:
        """Find the conversations that have every word of the query; an empty one lists them."""
        return await _on_thread(partial(self._searched, query, scope))

    async def find(self, target: str, folder: Path) -> Summary:
        """Find the one conversation whose id begins with `target`, first among those about a folder; a path names a log
        in the store. Raises NoConversation, SeveralConversations."""
        return await _on_thread(partial(self._find, target.strip(), folder))

    async def is_here(self, one: Summary, folder: Path) -> bool:
        """Tell whether a conversation is about a folder, by what that one was called before, too."""
        rows = await self.listed(Scope(folder, "shown", -1))
        return one.cwd == folder or any(row.id == one.id for row in rows)

    async def last(self, window: str | None, folder: Path) -> Summary | None:
        """Return the conversation that an editor window had last in a folder, else the newest one about it."""
        return await _on_thread(partial(self._last, window, folder))

    async def rename(self, id: str, title: str) -> str:
        """Give a conversation the user's own title. Raises ValueError for an empty one, and what `archive` raises."""
        name = title_of(KEY_FORMS.sub(MASK, title))  # its own secrets are known only while it is open
        await _on_thread(partial(self._write, id, lambda log: log.rename(name)))
        return name

    async def archive(self, id: str, archived: bool) -> None:
        """Hide a conversation from lists, or show it again. Raises UnknownConversation, ConversationBusy, OSError."""
        await _on_thread(partial(self._write, id, lambda log: log.archive(archived)))

    async def prompts(self, query: str, folder: Path | None, limit: int) -> Sequence[OldPrompt]:
        """List prompts that were sent, the newest first. Raises OSError."""
        return await _on_thread(partial(PromptHistory(self._store).listed, query, folder, limit))

    def _listed(self, scope: Scope) -> list[Summary]:
        rows = self._index.listed(scope.wanted)
        folder = scope.folder
        return rows if folder is None else [row for row in rows if not is_of_another(self._store, row, folder)]

    def _searched(self, query: str, scope: Scope) -> Results:
        results, folder = Search(self._store).search(query, scope.wanted), scope.folder
        if folder is None:
            return results
        here = [hit for hit in results.found if not is_of_another(self._store, hit.summary, folder)]
        return Results(here, results.truncated)

    def _find(self, target: str, folder: Path) -> Summary:
        name = target
        if "/" in target or "\\" in target or target.endswith(".jsonl"):
            path = Path(target).expanduser()
            if path.resolve().parent != self._store.conversations.resolve():
                raise NoConversation(f"{target[:200]!r} is not a conversation in {self._store.conversations}")
            name = path.name.removesuffix(".jsonl")
        if not valid_conversation_id(name):
            raise NoConversation(f"{target[:64]!r} is not the id of a conversation")
        everywhere = [one for one in self._index.listed(Wanted()) if one.id.startswith(name)]
        here = {one.id for one in self._listed(Scope(folder, "shown", -1))}
        exact = [one for one in everywhere if one.id == name]
        found = exact or [one for one in everywhere if one.id in here] or everywhere
        if not found:
            raise NoConversation(f"no conversation starts with {name!r}")
        if len(found) > 1:
            raise SeveralConversations(name, found[:CANDIDATES])
        return found[0]

    def _last(self, window: str | None, folder: Path) -> Summary | None:
        here = self._listed(Scope(folder, "hidden", -1))
        known = last_of(self._store, window, folder) if window else None
        return next((one for one in here if one.id == known), here[0] if here else None)

    def _write(self, id: str, change: Callable[[Log], None]) -> None:
        conversation = Conversation.open(self._store, id)
        if conversation.read_only_reason is not None:
            raise ValueError(f"the conversation {id} cannot be changed: {conversation.read_only_reason}")
        with closing(conversation):
            change(Log(conversation))
            conversation.sync()
            if conversation.write_error is not None:
                raise conversation.write_error


async def _on_thread(action: Callable[[], _T]) -> _T:
    return await anyio.to_thread.run_sync(action)


__all__ = ["Library", "NoConversation", "Scope", "SeveralConversations", "UnknownConversation"]
