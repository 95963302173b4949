"""Tells the model about a reviewed edit: which part of it was accepted, and what was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from north_lsp.agent.edits.apply import Applied
from north_lsp.agent.log.accepted import chosen_text, kept_folders
from north_lsp.agent.ports.editor import EditDecision
from north_lsp.errors import ToolError
from north_lsp.tools.support.texts import TextsAhead
from north_lsp.workspace.edit.diff import hunks_between
from north_lsp.workspace.edit.editor_result import is_same
from north_lsp.workspace.proposal import EditProposal, FileChange, Hunk
from north_lsp.workspace.workspace import Workspace

_REGION_LINES = 40
_REGION_CHARACTERS = 8_000
_TOLD_CHARACTERS = 16_000


def rejected_for_model(proposal: EditProposal, decision: EditDecision) -> dict[str, object]:
    """Tell the model which hunks were accepted and rejected, and what the user changed in the proposed text."""
    told: dict[str, object] = {}
    if decision.hunks is not None:
        stand: list[str] = []
        fell: list[dict[str, str]] = []
        kept = kept_folders(proposal, decision)
        for change in proposal.files:
            if change.target in decision.texts:
                continue
            ids = decision.hunks.get(change.target)
            whole = change.target not in kept and chosen_text(change, ids) is not None
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
    """Tell the model what the editor changed in the accepted texts."""
    rows = [
        {"path": change.shown, "diff": _diff(applied.accepted[change.target], change.new_text)}
        for change in applied.files
        if change.target in applied.accepted
    ]
    return {"changedByEditor": rows} if rows else {}


def _diff(old: str, new: str) -> str:
    if is_same(old, new):
        return "(only the line endings differ)"
    hunks, _, _ = hunks_between(old, new)
    return _short("".join(f"{hunk.header}\n{hunk.text}" for hunk in hunks), _TOLD_CHARACTERS)


def _short(text: str, limit: int) -> str:
    """Cut the middle out of a text that is too long for the conversation."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def _place(change: FileChange, hunk: Hunk) -> str:
    return f"{change.shown} {hunk.header}"


def comment_of(decision: EditDecision) -> dict[str, object]:
    return {"comment": decision.comment} if decision.comment else {}


async def applied_rows(
    workspace: Workspace, changes: Sequence[FileChange], unsaved: list[str]
) -> list[Mapping[str, object]]:
    """Describe what files hold now, so that the model need not read them again. `unsaved` gets a notice for each that
    the editor has not saved."""
    texts = TextsAhead(workspace)
    await texts.read(change.target for change in changes if _is_told(change))
    return [await _applied_row(workspace, change, texts, unsaved) for change in changes]


def _is_told(change: FileChange) -> bool:
    """Tell whether the model is told the text that a file has now."""
    return not (change.folder or change.binary or change.action == "delete")


async def _applied_row(
    workspace: Workspace, change: FileChange, texts: TextsAhead, unsaved: list[str]
) -> Mapping[str, object]:
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
    if not _is_told(change):
        return row
    try:
        text, source = await texts.take(change.target)
    except ToolError:
        return row
    if source == "editor":
        unsaved.append(
            f"{change.shown} was changed in the editor but is not saved yet: commands read its old text until the "
            "user saves it"
        )
    workspace.seen.wrote(change.target, text.tag)
    row["snapshot"] = f"{change.shown}#{text.tag}"
    if change.hunks:
        start = change.hunks[0].new_start
        end = change.hunks[-1].new_start + change.hunks[-1].new_lines - 1
        lines = text.text.split("\n")[start - 1 : min(end, start + _REGION_LINES - 1)]
        content = _short("\n".join(lines), _REGION_CHARACTERS)
        row["region"] = {"start": start, "end": start + len(lines) - 1, "content": content}
    return row
