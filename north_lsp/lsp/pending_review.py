"""An edit that waits for the user's decision in a client without the chat: what is decided, and where the rest can be.

A hunk is decided by its code lens, a code action or a command; the last one, or an answer for the whole edit, decides
the edit. Changes of the review document count at that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

import anyio

from north_lsp.agent.ports.editor import EditDecision, EditReview
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lsp.review_document import (
    ReviewProblem,
    Unit,
    Written,
    document,
    read_document,
    text_with,
    units,
)
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import encode

_MAX_COMMENT = 4000

Kind = Literal["accept", "always", "session", "reject", "stop"]


@dataclass
class PendingReview:
    """One edit under review. `path` is its document, `decided` tells for each unit whether it is accepted, and `done`
    is set after `decision`."""

    review: EditReview
    path: Path
    decided: dict[Unit, bool] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    decision: EditDecision | None = None
    done: anyio.Event = field(default_factory=anyio.Event)

    @property
    def id(self) -> str:
        return self.review.proposal.id

    @property
    def files(self) -> Sequence[FileChange]:
        return self.review.proposal.files

    def text(self) -> str:
        """Return the review document as it is first shown."""
        return document(self.review.proposal, self.review.warnings)

    def all_units(self) -> list[Unit]:
        return [unit for change in self.files for unit in units(change)]

    def find(self, path: Path, hunk: str | None) -> list[Unit]:
        """Return the units of a file, or the unit that a hunk is or belongs to; empty if there is none."""
        change = next((change for change in self.files if path in change.paths), None)
        if change is None or (hunk is not None and _header(change, hunk) is None):
            return []
        return [unit for unit in units(change) if hunk is None or unit[1] in (None, hunk)]

    def note(self, comment: str | None) -> None:
        """Add a comment to the model, which is sent with the decision."""
        if comment and comment.strip():
            self.comments.append(comment.strip())

    def decide_units(self, chosen: Sequence[Unit], stands: bool, text: str | None) -> bool:
        """Decide some units. Returns whether the whole edit is now decided. Raises ReviewProblem if the document is
        invalid."""
        before = dict(self.decided)
        self.decided.update(dict.fromkeys(chosen, stands))
        if len(self.decided) < len(self.all_units()):
            return False
        try:
            self.decide("accept" if any(self.decided.values()) else "reject", text)
        except ReviewProblem:
            self.decided = before
            raise
        return True

    def decide(self, kind: Kind, text: str | None) -> None:
        """Decide the whole edit: units that were not rejected before are accepted. `text` is the current document.
        Raises ReviewProblem if it is invalid; rejecting does not need a valid document."""
        written = Written(None, frozenset(self.all_units()), {})
        if text is not None:
            try:
                written = read_document(self.review.proposal, text)
            except ReviewProblem:
                if kind not in ("reject", "stop"):
                    raise
        self._finish(self._decision(kind, written))

    def announce(self) -> None:
        """Wake up the caller that waits for the decision. Must run on the event loop's thread."""
        if self.decision is not None:
            self.done.set()

    def _finish(self, decision: EditDecision) -> None:
        if self.decision is None:
            self.decision = decision

    def _decision(self, kind: Kind, written: Written) -> EditDecision:
        said = "\n".join([*self.comments, *([written.comment] if written.comment else [])])[:_MAX_COMMENT] or None
        if kind in ("reject", "stop"):
            return EditDecision(kind, said)
        accepted_units = {unit for unit in written.left if self.decided.get(unit, True)}
        if accepted_units == set(self.all_units()) and not written.changed:
            return EditDecision(kind, said)
        hunks: dict[Path, frozenset[str]] = {}
        texts: dict[Path, str] = {}
        for change in self.files:
            if not any(unit in accepted_units for unit in units(change)):
                continue
            whole = (change.target, None) in accepted_units
            chosen = [hunk for hunk in change.hunks if whole or (change.target, hunk.id) in accepted_units]
            hunks[change.target] = frozenset(hunk.id for hunk in chosen)
            if any((change.target, hunk.id) in written.changed for hunk in chosen):
                texts[change.target] = _writable(change, text_with(change, chosen, written.changed))
        return EditDecision(kind, said, hunks, texts)

    # -- how it is shown -----------------------------------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        """Describe the edit and its decisions so far, for `north.review`."""
        files = []
        for change in self.files:
            rows = [
                {"hunk": unit[1], "header": _header(change, unit[1]), "accepted": self.decided.get(unit)}
                for unit in units(change)
            ]
            files.append({"path": str(change.target), "kind": change.action, "parts": rows})
        return {"reviewId": self.id, "title": self.review.title, "uri": self.path.as_uri(), "files": files}


def _writable(change: FileChange, text: str) -> str:
    """Return `text` if the file's encoding can represent it. Raises ReviewProblem, so that the user can still fix
    it."""
    try:
        encode(text, change.text_encoding)
    except ToolError as error:
        raise ReviewProblem(f"{change.shown}: {error.message}") from error
    return text


def _header(change: FileChange, hunk: str | None) -> str | None:
    return next((one.header for one in change.hunks if one.id == hunk), None)
