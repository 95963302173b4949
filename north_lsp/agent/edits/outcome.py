"""What becomes of a reviewed edit: which part of it stands, and what the model is told of that."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from north_lsp.agent.edits.apply import Applied
from north_lsp.agent.ports.editor import EditDecision
from north_lsp.errors import ToolError
from north_lsp.tools.base import Workspace
from north_lsp.tools.support.texts import text_of
from north_lsp.workspace.edit.diff import apply_hunks, hunks_between, with_texts
from north_lsp.workspace.edit.written import is_same
from north_lsp.workspace.proposal import EditProposal, FileChange, Hunk

_REGION_LINES = 40
_REGION_CHARACTERS = 8_000
_TOLD_CHARACTERS = 16_000


def accepted_part(proposal: EditProposal, decision: EditDecision) -> EditProposal:
    """What a decision leaves of a proposal: the accepted hunks, or the texts that the user made of it.

    Where single hunks were decided on, a file of which nothing is named does not stand. New and deleted files stand
    with all their hunks or not at all; what has no hunks (a plain rename, an empty file) stands by being named.
    """
    files: list[FileChange] = []
    kept = _kept_folders(proposal, decision)
    for change in proposal.files:
        text: str | None = change.new_text
        if change.target in kept:
            continue
        if change.target in decision.texts and change.action != "delete":
            text = decision.texts[change.target]
        elif decision.hunks is not None:
            text = _chosen_text(change, decision.hunks.get(change.target))
        if text is None or (text == change.old_text and change.action == "update" and not change.is_reformed):
            continue
        files.append(change if text == change.new_text else with_texts(change, change.old_text, text))
    return dataclasses.replace(proposal, files=tuple(files))


def _kept_folders(proposal: EditProposal, decision: EditDecision) -> frozenset[Path]:
    """The folders that cannot go, because a file in them was to go with them and the user keeps it."""
    if decision.hunks is None:
        return frozenset()
    stay = [
        change.path
        for change in proposal.files
        if change.action in ("delete", "rename") and _chosen_text(change, decision.hunks.get(change.target)) is None
    ]
    return frozenset(
        change.target
        for change in proposal.files
        if change.folder and change.action != "create" and any(change.path in path.parents for path in stay)
    )


def _chosen_text(change: FileChange, ids: frozenset[str] | None) -> str | None:
    """The text that the chosen hunks make of a file; None if the file does not stand."""
    if ids is None:
        return None
    chosen = [hunk for hunk in change.hunks if hunk.id in ids]
    if len(chosen) == len(change.hunks):
        return change.new_text
    if not chosen or change.action in ("create", "delete") or change.old_text is None:
        return None
    return apply_hunks(change.old_text, chosen)


def left_out(proposal: EditProposal, decision: EditDecision) -> dict[str, object]:
    """For the model: which hunks stand and which do not, and what the user changed in the proposed text."""
    told: dict[str, object] = {}
    if decision.hunks is not None:
        stand: list[str] = []
        fell: list[dict[str, str]] = []
        kept = _kept_folders(proposal, decision)
        for change in proposal.files:
            if change.target in decision.texts:
                continue
            ids = decision.hunks.get(change.target)
            whole = change.target not in kept and _chosen_text(change, ids) is not None
            for hunk in change.hunks:
                if whole and ids is not None and hunk.id in ids:
                    stand.append(_place(change, hunk))
                else:
                    fell.append({"header": _place(change, hunk), "text": _short(hunk.text, _TOLD_CHARACTERS)})
            if not change.hunks and not whole:
                fell.append({"header": change.shown, "text": f"{change.action} {change.relative}"})
        if fell:
            told |= {"partial": True, "acceptedHunks": stand, "rejectedHunks": fell}
    edited: list[dict[str, str]] = []
    for change in proposal.files:
        text = decision.texts.get(change.target)
        if text is not None and text != change.new_text:
            edited.append({"path": change.shown, "diff": _diff(change.new_text, text)})
    if edited:
        told["changedByUser"] = edited
    return told


def changed_by_editor(applied: Applied) -> dict[str, object]:
    """For the model: what the editor made of the accepted texts."""
    rows = [
        {"path": change.shown, "diff": _diff(applied.accepted[change.target], change.new_text)}
        for change in applied.files
        if change.target in applied.accepted
    ]
    return {"changedByEditor": rows} if rows else {}


def _diff(old: str, new: str) -> str:
    if is_same(old, new):
        return "(only how the lines end)"
    hunks, _, _ = hunks_between(old, new)
    return _short("".join(f"{hunk.header}\n{hunk.text}" for hunk in hunks), _TOLD_CHARACTERS)


def _short(text: str, limit: int) -> str:
    """A text that is too long for the conversation, without its middle."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def _place(change: FileChange, hunk: Hunk) -> str:
    return f"{change.shown} {hunk.header}"


def parts_of(decision: EditDecision) -> dict[str, object]:
    """How the decision stands in the log, beside its kind."""
    parts: dict[str, object] = {}
    if decision.hunks is not None:
        parts["hunks"] = {str(path): sorted(ids) for path, ids in decision.hunks.items()}
    if decision.texts:
        parts["texts"] = {str(path): text for path, text in decision.texts.items()}
    return parts


def comment_of(decision: EditDecision) -> dict[str, object]:
    return {"comment": decision.comment} if decision.comment else {}


def first_line(change: FileChange) -> int:
    return change.hunks[0].new_start if change.hunks else 1


async def applied_row(workspace: Workspace, change: FileChange, unsaved: list[str]) -> Mapping[str, object]:
    """What stands there now, so that the model need not read it again. `unsaved` gets a notice for what the editor has
    not saved."""
    row: dict[str, object] = {"path": change.shown}
    if change.action != "update":
        row["action"] = change.action
    if change.new_path is not None:
        row["from"] = change.relative
    if change.make_executable:
        row["madeExecutable"] = True
    if change.folder:
        return row | {"folder": True}
    row |= {"linesAdded": change.lines_added, "linesRemoved": change.lines_removed}
    if change.action in ("delete", "rename"):
        workspace.seen.forget(change.path)
    if change.action == "delete" or change.binary:
        return row
    try:
        text, source = await text_of(change.target, workspace)
    except ToolError:
        return row
    if source == "editor":
        unsaved.append(
            f"{change.shown} is changed in the editor, and not saved yet: commands read the old text of it until the "
            "user saves it"
        )
    workspace.seen.wrote(change.target, text.tag)
    row["snapshot"] = f"{change.shown}#{text.tag}"
    if change.hunks:
        start = first_line(change)
        end = change.hunks[-1].new_start + change.hunks[-1].new_lines - 1
        lines = text.text.split("\n")[start - 1 : min(end, start + _REGION_LINES - 1)]
        content = _short("\n".join(lines), _REGION_CHARACTERS)
        row["region"] = {"start": start, "end": start + len(lines) - 1, "content": content}
    return row
