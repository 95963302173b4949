"""The questions that a session asks about edits and commands: in the log from when they are asked until they are
decided, and remembered where the user said "always"."""

from collections.abc import Awaitable, Callable
from typing import Literal

import anyio.to_thread

from north_lsp.agent.approvals.project import ProjectApprovals
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.reviews import CommandRequest, EditRequest, ReviewEntry, StoredDecision
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import ApprovalsChanged, Notice
from north_lsp.storage.entries import new_entry_id


class ReviewRecord:
    """Those of one session; `sync` brings the conversation to the disk."""

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

    def open(
        self,
        call_id: str,
        request: EditRequest | CommandRequest,
        review_id: str | None = None,
    ) -> Logged:
        """Write what needs an answer to the log, as pending."""
        kind: Literal["write", "shell"] = "write" if isinstance(request, EditRequest) else "shell"
        return self._log.append(ReviewEntry(kind, call_id, request, review_id or new_entry_id(())))

    async def sync_question(self) -> None:
        """Bring the question to the disk before the user is asked: a killed process leaves it as one without an
        answer."""
        await self._sync()

    def close(self, entry_id: str, decision: StoredDecision) -> None:
        """Write a review's outcome to the log."""
        self._log.decide(entry_id, decision)

    async def remember(self, store: Callable[[], None]) -> None:
        """Keep an "always"; say so if it cannot be kept."""
        await anyio.to_thread.run_sync(store)
        if (error := self.approvals.write_error) is not None:
            text = f"this answer could not be stored and holds for this conversation only: {error.strerror}"
            await self._editor.show(Notice("warning", text))
        await self._editor.show(ApprovalsChanged())
