"""Decides which part of a proposal is accepted: after a decision, and when that is read from the log."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from north_lsp.agent.ports.editor import EditDecision
from north_lsp.workspace.edit.diff import apply_hunks, with_texts
from north_lsp.workspace.proposal import EditProposal, FileChange


def accepted_part(proposal: EditProposal, decision: EditDecision) -> EditProposal:
    """Return what a decision leaves of a proposal: the accepted hunks, or the texts that the user made of it.

    Where single hunks were decided on, a file of which none is named is left out. New and deleted files are accepted
    with all their hunks or not at all; a file without hunks (a plain rename, an empty file) is accepted if it is named.
    """
    files: list[FileChange] = []
    kept = kept_folders(proposal, decision)
    for change in proposal.files:
        text: str | None = change.new_text
        if change.target in kept:
            continue
        if change.target in decision.texts and change.action != "delete":
            text = decision.texts[change.target]
        elif decision.hunks is not None:
            text = chosen_text(change, decision.hunks.get(change.target))
        if text is None or (text == change.old_text and change.action == "update" and not change.encoding_changed):
            continue
        files.append(change if text == change.new_text else with_texts(change, change.old_text, text))
    return dataclasses.replace(proposal, files=tuple(files))


def kept_folders(proposal: EditProposal, decision: EditDecision) -> frozenset[Path]:
    """Return the folders that must stay because the user keeps a file that should have been removed from them."""
    if decision.hunks is None:
        return frozenset()
    stay = [
        change.path
        for change in proposal.files
        if change.action in ("delete", "rename") and chosen_text(change, decision.hunks.get(change.target)) is None
    ]
    return frozenset(
        change.target
        for change in proposal.files
        if change.folder and change.action != "create" and any(change.path in path.parents for path in stay)
    )


def chosen_text(change: FileChange, ids: frozenset[str] | None) -> str | None:
    """Return the text that the chosen hunks make of a file; None if the file is left out."""
    if ids is None:
        return None
    chosen = [hunk for hunk in change.hunks if hunk.id in ids]
    if len(chosen) == len(change.hunks):
        return change.new_text
    if not chosen or change.action in ("create", "delete") or change.old_text is None:
        return None
    return apply_hunks(change.old_text, chosen)
