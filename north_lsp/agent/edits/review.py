"""Reviews and applies edit proposals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.edits.apply import Applied, apply_proposal, take_written
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.edits.model_report import (
    applied_rows,
    changed_by_editor,
    comment_of,
    rejected_for_model,
)
from north_lsp.agent.edits.new_problems import problems_before, with_new_problems
from north_lsp.agent.edits.undo import UndoHistory
from north_lsp.agent.log.accepted import accepted_part
from north_lsp.agent.log.projection import proposal_shown
from north_lsp.agent.log.reviews import EditRequest, ProposedFile, StoredDecision, Written
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import EditDecision, Editor, EditReview
from north_lsp.agent.ports.events import CallEnded, CallRunning, Notice
from north_lsp.agent.ports.results import Result, StopTurn, ok
from north_lsp.display import counted, one_line
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.storage.conversation import ConversationBusy, ConversationClosed
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.edit.argument_coercion import raw_paths
from north_lsp.vocabulary import Location
from north_lsp.workspace.guards.edit_guard import questions, refuse
from north_lsp.workspace.proposal import EditProposal, FileChange
from north_lsp.workspace.workspace import Workspace

_MAX_EDIT_CHARACTERS = 12_000_000
_STATUSES = {"accept": "accepted", "always": "always", "session": "accepted", "reject": "rejected", "stop": "cancelled"}


class EditReviewer:
    """Asks about the edits of one session, and applies what is accepted. `expect` is told which files are about to
    change, so that the watch of a running command does not attribute them to the command."""

    def __init__(
        self,
        reviews: ReviewRecord,
        editor: Editor,
        checkpoints: Checkpoints,
        expect: Callable[[Sequence[Path]], None],
        diagnostics: Diagnostics,
    ) -> None:
        self._reviews = reviews
        self._editor = editor
        self._checkpoints = checkpoints
        self._expect = expect
        self._diagnostics = diagnostics

    async def undone(self, workspace: Workspace, path: str | None, steps: int) -> Sequence[FileChange]:
        """Return the changes that undo the last ones of the conversation, all or those of one file. Raises
        ToolError."""
        return await UndoHistory(self._checkpoints, workspace, self._editor).revert(path, steps)

    async def review(
        self,
        workspace: Workspace,
        call: ToolCall,
        title: str,
        changes: Sequence[FileChange],
        keep: Callable[[Result], None] = lambda result: None,
        asks: Sequence[str] = (),
    ) -> Result:
        """Ask about an edit and apply what was accepted. Edits that are accepted automatically do not ask, unless
        `asks` gives a reason. `keep` gets the result of what was written even if the turn is cancelled at that moment.
        Raises StopTurn and ToolError."""
        files = tuple(changes)
        if all(change.is_empty for change in files):
            text = "No change: the file already has this text."
            return Result(ok({"applied": False, "reason": "no change"}), False, CallEnded(call.id, title, True, text))
        files = tuple(change for change in files if not change.is_empty)
        _ensure_reviewable(files)
        warnings = (*asks, *await _warnings(workspace, call, files))
        proposal = EditProposal(new_entry_id(()), call.id, files, _counted(title, files), warnings)
        with anyio.CancelScope() as held:
            return await self._settled(workspace, call, title, proposal, keep, held)
        raise AssertionError("only what is around it is cancelled")

    async def _settled(
        self,
        workspace: Workspace,
        call: ToolCall,
        title: str,
        proposal: EditProposal,
        keep: Callable[[Result], None],
        held: anyio.CancelScope,
    ) -> Result:
        """Have a proposal decided, and apply what was accepted. `held` is around it, and shields what the editor has
        written by itself until that is recorded. Raises StopTurn and ToolError."""
        review_id, status, decision = await self._decided(proposal, partial(setattr, held, "shield", True))
        accepted = accepted_part(proposal, decision)
        if status not in ("applied_auto", "rejected", "cancelled") and not (decision.texts or decision.is_written):
            fresh = set(await _warnings(workspace, call, accepted.files)) - set(proposal.warnings)
            if fresh:
                self._reviews.close(review_id, StoredDecision("failed", decision.comment))
                raise ToolError(
                    "STALE",
                    f"{'; '.join(sorted(fresh))}. This was not so when the edit was prepared; nothing was written",
                    "propose it again",
                )
        if status in ("accepted", "always") and not accepted.files:
            status = "rejected"
        await self._remember(status, decision, proposal.warnings)
        if status in ("rejected", "cancelled"):
            self._reviews.close(review_id, StoredDecision(status, decision.comment))
            if status == "cancelled":
                raise StopTurn(decision.comment)
            data: dict[str, object] = {"applied": False, "reason": "rejected"} | comment_of(decision)
            ended = CallEnded(call.id, proposal.summary, False, "Rejected; nothing was written.", proposal.files)
            return Result(ok(data), False, ended)
        await self._editor.show(CallRunning(call.id))
        # Of what is written already, nobody can tell which problems were there before.
        known = await problems_before(workspace, () if decision.is_written else accepted.files)
        with anyio.CancelScope(shield=True):  # once writing has begun, the result must say what was written
            result = await self._written(workspace, title, proposal, accepted, decision, (review_id, status))
            keep(result)
            held.shield = False
        return await with_new_problems(result, known, workspace, accepted.files)

    def asks_about(self, proposal: EditProposal) -> bool:
        """Tell whether the user is asked."""
        return bool(proposal.warnings) or not self._reviews.approvals.edits_auto_accepted()

    async def _decided(self, proposal: EditProposal, hold: Callable[[], None]) -> tuple[str, str, EditDecision]:
        """Have a proposal decided; returns the id of the review's log entry, its status, and the user's decision."""
        approvals, call_id = self._reviews.approvals, proposal.tool_call_id
        request = EditRequest(proposal.summary, tuple(map(ProposedFile.of, proposal.files)))
        opened = self._reviews.open(call_id, request, proposal.id)
        review_id = opened.id
        for event in proposal_shown(opened, proposal.files):
            await self._editor.show(event)
        if not self.asks_about(proposal):
            return review_id, "applied_auto", EditDecision("accept")
        await self._reviews.sync_question()
        may_remember = not proposal.warnings and not approvals.distrusted()
        review = EditReview(proposal, proposal.summary, may_remember, proposal.warnings, hold=hold)
        review = replace(review, late=partial(self._written_late, proposal))
        decision = await self._editor.review_edit(review)
        return review_id, _STATUSES[decision.kind], decision

    async def _written_late(self, proposal: EditProposal, decision: EditDecision) -> None:
        """Record what the editor has written of a proposal after its turn was cancelled, and tell the user."""
        accepted = accepted_part(proposal, decision)
        names = ", ".join(change.shown for change in accepted.files)
        told = f"The turn had been stopped when your editor applied this edit of {names}: use `/undo` to restore it."
        try:
            await take_written(accepted, self._checkpoints)
        except (ConversationBusy, ConversationClosed, ToolError):
            told = f"Your editor applied this edit of {names} after its conversation had ended: undo it there."
        await self._editor.show(Notice("warning", told))

    async def _remember(self, status: str, decision: EditDecision, warnings: Sequence[str]) -> None:
        approvals = self._reviews.approvals
        if status == "always":
            await self._reviews.remember(approvals.enable_edits_auto_accept)
        elif decision.kind == "session" and status == "accepted" and not warnings:
            await self._reviews.remember(approvals.accept_edits_of_this_session)

    async def _written(
        self,
        workspace: Workspace,
        title: str,
        proposal: EditProposal,
        accepted: EditProposal,
        decision: EditDecision,
        review: tuple[str, str],
    ) -> Result:
        """Apply what was accepted; `review` is its entry and status. Raises ToolError."""
        review_id, status = review
        self._expect([change.target for change in accepted.files])
        try:
            with self._diagnostics.timed(
                "write_apply_start", reviewId=proposal.id, files=len(accepted.files)
            ) as outcome:
                if decision.is_written:
                    applied = await take_written(accepted, self._checkpoints)
                else:
                    applied = await apply_proposal(accepted, workspace, self._editor, self._checkpoints)
                outcome.ok = True
                outcome.data["via"] = _via(applied)
        except ToolError as error:
            self._reviews.close(review_id, StoredDecision("failed", decision.comment))
            raise ToolError(error.code, error.message, error.hint, {**error.details, **comment_of(decision)}) from error
        written = _written_otherwise(accepted.files, applied.files)
        stored = StoredDecision(status, decision.comment, decision.hunks, decision.texts, written)
        self._reviews.close(review_id, stored)
        unsaved: list[str] = []
        rows = await applied_rows(workspace, applied.files, unsaved)
        data: dict[str, object] = {"applied": True, "files": rows}
        rejected = rejected_for_model(proposal, decision)
        data |= comment_of(decision) | rejected | changed_by_editor(applied)
        if notices := list(dict.fromkeys([*accepted.notices, *applied.notices, *unsaved])):
            data["notices"] = notices
        places = tuple(
            Location(change.target, change.first_changed_line) for change in applied.files if change.action != "delete"
        )
        done = _counted(f"{title}{_left_out(proposal, accepted, 'partial' in rejected)}", applied.files)
        return Result(ok(data), False, CallEnded(proposal.tool_call_id, done, True, "", applied.files, places))


def _ensure_reviewable(files: Sequence[FileChange]) -> None:
    """Refuse an edit that is too large to review. Raises ToolError."""
    size = sum(len(change.old_text or "") + len(change.new_text) for change in files)
    if size > _MAX_EDIT_CHARACTERS:
        raise ToolError("TOO_LARGE", f"the edit has {size} characters; at most {_MAX_EDIT_CHARACTERS} can be reviewed")


async def _warnings(workspace: Workspace, call: ToolCall, files: Sequence[FileChange]) -> tuple[str, ...]:
    """Return the reasons to ask even if the user has switched reviews off. Raises ToolError for what is never
    written."""
    return await anyio.to_thread.run_sync(
        lambda: _protected_reasons(workspace, tuple(raw_paths(call.arguments)), files)
    )


def _protected_reasons(workspace: Workspace, named: tuple[str, ...], files: Sequence[FileChange]) -> tuple[str, ...]:
    """Judge every path both as resolved and as the model wrote it, at both ends of a rename, and all files together."""
    refuse(files, workspace.roots, workspace.private)
    return tuple(questions(files, workspace.trees, named))


def _written_otherwise(accepted: Sequence[FileChange], applied: Sequence[FileChange]) -> dict[Path, Written | None]:
    """Return the files of which something else was written than what was accepted."""
    came = {change.target: Written(change.old_text, change.new_text) for change in applied}
    meant = {change.target: Written(change.old_text, change.new_text) for change in accepted}
    return {path: came.get(path) for path, texts in meant.items() if came.get(path) != texts}


def _via(applied: Applied) -> str:
    """Say who wrote the files, for North's log."""
    if applied.by_editor == 0:
        return "disk"
    return "editor" if applied.by_editor == len(applied.files) else "both"


def _left_out(proposal: EditProposal, accepted: EditProposal, in_part: bool) -> str:
    """Say at the end of a title what the user left out."""
    kept = {change.target for change in accepted.files}
    names = [change.target.name for change in proposal.files if change.target not in kept]
    if not names:
        return " in part" if in_part else ""
    return f", without {' and '.join(names) if len(names) <= 2 else counted(len(names), 'file')}"


def _counted(title: str, files: Sequence[FileChange]) -> str:
    added, removed = sum(file.lines_added for file in files), sum(file.lines_removed for file in files)
    return one_line(f"{title} (+{added}/-{removed})")
