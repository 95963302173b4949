"""Records the questions that a session asks about edits and commands: they are in the log from the moment they are
asked until they are decided, and an "always" is remembered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio.to_thread

from north_lsp.agent.approvals.project import ProjectApprovals, moved_aside
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.reviews import Request, ReviewEntry, StoredDecision
from north_lsp.agent.log.unfinished import SUPERSEDED, waiting_about
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import ApprovalsChanged, Notice
from north_lsp.storage.entries import new_entry_id


class ReviewRecord:
    """The questions of one session; `sync` flushes the conversation to the disk."""

    def __init__(
        self,
        log: Log,
        editor: Editor,
        approvals: ProjectApprovals,
        sync: Callable[[], Awaitable[None]],
    ) -> None:
        self.approvals = approvals
        self._log = log
        self._editor = editor
        self._sync = sync

    def open(self, call_id: str, request: Request, review_id: str | None = None) -> Logged:
        """Write a question to the log as a pending review. It takes the place of one that an earlier process asked
        about the same call."""
        before = waiting_about(self._log.path(), call_id)
        logged = self._log.append(ReviewEntry.pending(call_id, request, review_id or new_entry_id(())))
        for entry_id in before:
            self.close(entry_id, StoredDecision(SUPERSEDED))
        return logged

    async def sync_question(self) -> None:
        """Flush the question to the disk before the user is asked, so that a killed process leaves it in the log,
        unanswered."""
        await self._sync()

    def close(self, entry_id: str, decision: StoredDecision) -> None:
        """Write the outcome of a review to the log."""
        self._log.decide(entry_id, decision)

    async def remember(self, store: Callable[[], None]) -> None:
        """Store an "always" answer; warn the user if that fails."""
        await anyio.to_thread.run_sync(store)
        if (error := self.approvals.write_error) is not None:
            text = f"this answer could not be stored, so it applies to this conversation only: {error.strerror}"
            await self._editor.show(Notice("warning", text))
        if (aside := self.approvals.take_aside()) is not None:
            await self._editor.show(Notice("warning", moved_aside(aside)))
        await self._editor.show(ApprovalsChanged())
