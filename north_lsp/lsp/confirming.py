"""Has the editor itself ask about an edit, where the user wants that and it can: as changes to be confirmed there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from north_lsp.agent.edits.apply import has_other_names
from north_lsp.agent.ports.editor import EditDecision, EditReview
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lsp.documents import OpenDocuments
from north_lsp.lsp.initialize import LspClient
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.workspace.edit.editor_result import in_ends_of, is_same
from north_lsp.workspace.proposal import FileChange

_INFO = 3


class EditorConfirmation:
    """`is_wanted` tells whether the user has chosen it. The editor writes what is confirmed, and nothing else; also
    once the turn has been cancelled, since nothing can take the question away from it."""

    def __init__(
        self,
        peer: Peer,
        documents: OpenDocuments,
        client: LspClient,
        is_wanted: Callable[[], bool],
    ) -> None:
        self._peer = peer
        self._documents = documents
        self._why_not = _why_not(client)
        self._is_wanted = is_wanted
        self._has_told = False

    async def decide(self, review: EditReview) -> EditDecision | None:
        """Return what the user has decided, and the editor written; None if it cannot ask about this edit, or its texts
        have changed meanwhile."""
        changes = review.proposal.files
        if not self._is_wanted():
            return None
        if self._why_not:
            await self._tell()
            return None
        if not await self._all_open(changes):
            return None
        try:
            edits = self._documents.edits_of(changes)
        except ToolError:
            return None
        try:
            asked = _annotated(review, edits)
            answer = await self._peer.request(
                "workspace/applyEdit", asked, cancellable=True, late=partial(self._take_late, review)
            )
        except RpcError:
            return None
        if not _is_applied(answer):
            now = await self._texts(changes)
            is_as_before = all(is_same(now.get(one.path, ""), one.old_text or "") for one in changes)
            return EditDecision("reject") if is_as_before else None
        review.hold()
        return await self._made_of(changes)

    async def _tell(self) -> None:
        """Tell the user once why North asks, although the editor was to do that."""
        if not self._has_told:
            self._has_told = True
            told = f"`edits.confirmInEditor` is on, but {self._why_not}: North asks about edits itself."
            await self._peer.notify("window/showMessage", {"type": _INFO, "message": told})

    async def _take_late(self, review: EditReview, answer: object) -> None:
        """Have what was confirmed after the end of the turn recorded, so that it can be undone."""
        if _is_applied(answer) and review.late is not None:
            decision = await self._made_of(review.proposal.files)
            if decision.is_written:
                await review.late(decision)

    async def _made_of(self, changes: Sequence[FileChange]) -> EditDecision:
        """Return the decision on changes that the editor says it has written."""
        for change in changes:
            await self._documents.wait_for(change)
        return _decision(changes, await self._texts(changes))

    async def _all_open(self, changes: Sequence[FileChange]) -> bool:
        """Tell whether the editor writes all the files, and only them."""
        mine = await self._documents.changes_owned_by_editor(changes)
        if len(mine) < len(changes):
            return False
        return not await anyio.to_thread.run_sync(lambda: any(has_other_names(change.path) for change in changes))

    async def _texts(self, changes: Sequence[FileChange]) -> dict[Path, str]:
        found = {change.path: await self._documents.read_unsaved(change.path) for change in changes}
        return {path: text for path, text in found.items() if text is not None}


def _why_not(client: LspClient) -> str:
    """Say why an editor cannot be left to ask about edits; empty if it can."""
    if client.one_text_an_edit:  # those that ask at all name the files, and take Enter for a yes
        return "Neovim asks without showing what an edit changes"
    if not client.annotates:
        return "this editor does not say that it asks about edits (`workspace.workspaceEdit.changeAnnotationSupport`)"
    if not client.versioned_edits:
        return "this editor compares no versions of texts (`workspace.workspaceEdit.documentChanges`)"
    return ""


def _is_applied(answer: object) -> bool:
    return isinstance(answer, dict) and answer.get("applied") is True


def _annotated(review: EditReview, edits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the params of an edit that the user confirms file by file."""
    annotations = {}
    for number, (change, edit) in enumerate(zip(review.proposal.files, edits, strict=True)):
        said = [f"{change.shown} (+{change.lines_added}/-{change.lines_removed})", *review.warnings]
        label = visible(one_line(f"North: {review.title}", 200))
        annotations[str(number)] = {
            "label": label,
            "needsConfirmation": True,
            "description": visible("; ".join(said)),
        }
        edit["edits"] = [one | {"annotationId": str(number)} for one in edit["edits"]]
    return {"label": "North", "edit": {"documentChanges": list(edits), "changeAnnotations": annotations}}


def _decision(changes: Sequence[FileChange], now: Mapping[Path, str]) -> EditDecision:
    """Return the decision that the editor's texts stand for."""
    left_out = [one for one in changes if is_same(now.get(one.path, one.old_text or ""), one.old_text or "")]
    if len(left_out) == len(changes):
        return EditDecision("reject")
    taken = [change for change in changes if change not in left_out]
    texts = {
        one.target: in_ends_of(one.new_text, now[one.path]) for one in taken if not is_same(now[one.path], one.new_text)
    }
    hunks = {one.target: frozenset(hunk.id for hunk in one.hunks) for one in taken} if left_out else None
    return EditDecision("accept", hunks=hunks, texts=texts, is_written=True)
