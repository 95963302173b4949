"""Reviewing and applying an edit proposal, and what the model is told became of it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.agent.approvals.record import record, remember
from north_lsp.agent.edits.apply import Applied, apply_proposal
from north_lsp.agent.ports.editor import EditDecision, EditReview
from north_lsp.agent.ports.events import CallEnded, CallProposes, CallRunning
from north_lsp.agent.ports.results import Result, StopTurn, ok
from north_lsp.agent.turn_state import TurnState
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.base import Location
from north_lsp.tools.edit.argument_coercion import spellings
from north_lsp.tools.support.texts import text_of
from north_lsp.workspace.edit.diff import apply_hunks, hunks_between, with_texts
from north_lsp.workspace.edit.written import is_same
from north_lsp.workspace.guards.judging import questions, refuse
from north_lsp.workspace.proposal import EditProposal, FileChange, Hunk

_REGION_LINES = 40
_REGION_CHARACTERS = 8_000
_TOLD_CHARACTERS = 16_000
_MAX_EDIT_CHARACTERS = 12_000_000
_STATUSES = {"accept": "accepted", "always": "always", "session": "accepted", "reject": "rejected", "stop": "cancelled"}


async def review_edit(
    state: TurnState,
    call: ToolCall,
    title: str,
    changes: Sequence[FileChange],
    keep: Callable[[Result], None],
    asks: Sequence[str] = (),
) -> Result:
    """Ask, unless edits are accepted automatically and nothing `asks` in any case, and apply what was accepted. `keep`
    gets the result of what was written even when the turn is cancelled at that moment. Raises StopTurn and ToolError.
    """
    files = tuple(changes)
    if all(change.is_empty for change in files):
        text = "No change: the text is already so."
        return Result(ok({"applied": False, "reason": "no change"}), False, CallEnded(call.id, title, True, text))
    files = tuple(change for change in files if not change.is_empty)
    size = sum(len(change.old_text or "") + len(change.new_text) for change in files)
    if size > _MAX_EDIT_CHARACTERS:
        raise ToolError(
            "TOO_LARGE", f"the edit shows {size} characters; at most {_MAX_EDIT_CHARACTERS} can be reviewed"
        )
    warnings = (*asks, *await _warnings(state, call, files))
    shown = _counted(title, files)
    proposal = EditProposal(new_entry_id(()), call.id, files, shown, warnings)
    request = {"title": shown, "files": [_change_to_log(change) for change in files]}
    review = state.conversation.append(
        "review", reviewId=proposal.id, kind="write", toolCallId=call.id, request=request, status="pending"
    )
    await state.editor.show(CallProposes(call.id, shown, files))
    if not warnings and state.approvals.edits_auto_accepted():
        status, decision = "applied_auto", EditDecision("accept")
    else:
        await state.sync()
        may_remember = not warnings and not state.approvals.distrusted()
        decision = await state.editor.review_edit(EditReview(proposal, shown, may_remember, warnings))
        status = _STATUSES[decision.kind]
    accepted = accepted_part(proposal, decision)
    if status not in ("applied_auto", "rejected", "cancelled") and not decision.texts:
        fresh = set(await _warnings(state, call, accepted.files)) - set(warnings)
        if fresh:
            record(state, review["id"], "failed", decision.comment)
            raise ToolError(
                "STALE",
                f"{'; '.join(sorted(fresh))}. That was not so when the edit was prepared; nothing was written",
                "propose it again",
            )
    if status in ("accepted", "always") and not accepted.files:
        status = "rejected"
    if status == "always":
        await remember(state, state.approvals.enable_edits_auto_accept)
    elif decision.kind == "session" and status == "accepted" and not warnings:
        await remember(state, state.approvals.accept_edits_of_this_session)
    if status in ("rejected", "cancelled"):
        record(state, review["id"], status, decision.comment)
        if status == "cancelled":
            raise StopTurn(decision.comment)
        data: dict[str, object] = {"applied": False, "reason": "rejected"} | _comment(decision)
        ended = CallEnded(call.id, shown, False, "Rejected; nothing was written.", files)
        return Result(ok(data), False, ended)
    await state.editor.show(CallRunning(call.id))
    with anyio.CancelScope(shield=True):  # once it is being written, the result says what was written
        state.runner.expect([change.target for change in accepted.files])
        try:
            applied = await apply_proposal(accepted, state.workspace, state.editor, state.checkpoints)
        except ToolError as error:
            record(state, review["id"], "failed", decision.comment)
            raise ToolError(error.code, error.message, error.hint, {**error.details, **_comment(decision)}) from error
        record(state, review["id"], status, decision.comment, **_parts(decision))
        unsaved: list[str] = []
        data = {"applied": True, "files": [await _applied(state, change, unsaved) for change in applied.files]}
        data |= _comment(decision) | left_out(proposal, decision) | _remade(applied)
        if notices := list(dict.fromkeys([*accepted.notices, *applied.notices, *unsaved])):
            data["notices"] = notices
        places = tuple(
            Location(change.target, _first_line(change)) for change in applied.files if change.action != "delete"
        )
        done = _counted(title, applied.files)
        result = Result(ok(data), False, CallEnded(call.id, done, True, "", applied.files, places))
        keep(result)
    return result


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


def _remade(applied: Applied) -> dict[str, object]:
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


def _parts(decision: EditDecision) -> dict[str, object]:
    """How the decision stands in the log, beside its kind."""
    parts: dict[str, object] = {}
    if decision.hunks is not None:
        parts["hunks"] = {str(path): sorted(ids) for path, ids in decision.hunks.items()}
    if decision.texts:
        parts["texts"] = {str(path): text for path, text in decision.texts.items()}
    return parts


def _comment(decision: EditDecision) -> dict[str, object]:
    return {"comment": decision.comment} if decision.comment else {}


async def _warnings(state: TurnState, call: ToolCall, files: Sequence[FileChange]) -> tuple[str, ...]:
    """Why it asks although the user may have switched reviews off. Raises ToolError for what is never written."""
    return await anyio.to_thread.run_sync(lambda: _judged(state, tuple(spellings(call.arguments)), files))


def _judged(state: TurnState, spelled: tuple[str, ...], files: Sequence[FileChange]) -> tuple[str, ...]:
    """Every path is judged as it resolved and as it was spelled, at both ends of a rename, and all files together."""
    refuse(files, state.workspace.roots, state.workspace.private)
    return tuple(questions(files, state.workspace.trees, spelled))


def _counted(title: str, files: Sequence[FileChange]) -> str:
    added, removed = sum(file.lines_added for file in files), sum(file.lines_removed for file in files)
    return one_line(f"{title} (+{added}/-{removed})")


def _first_line(change: FileChange) -> int:
    return change.hunks[0].new_start if change.hunks else 1


async def _applied(state: TurnState, change: FileChange, unsaved: list[str]) -> Mapping[str, object]:
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
        state.workspace.seen.forget(change.path)
    if change.action == "delete" or change.binary:
        return row
    try:
        text, source = await text_of(change.target, state.workspace)
    except ToolError:
        return row
    if source == "editor":
        unsaved.append(
            f"{change.shown} is changed in the editor, and not saved yet: commands read the old text of it until the "
            "user saves it"
        )
    state.workspace.seen.wrote(change.target, text.tag)
    row["snapshot"] = f"{change.shown}#{text.tag}"
    if change.hunks:
        start = _first_line(change)
        end = change.hunks[-1].new_start + change.hunks[-1].new_lines - 1
        lines = text.text.split("\n")[start - 1 : min(end, start + _REGION_LINES - 1)]
        content = _short("\n".join(lines), _REGION_CHARACTERS)
        row["region"] = {"start": start, "end": start + len(lines) - 1, "content": content}
    return row


def _change_to_log(change: FileChange) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path": str(change.path),
        "relative": change.relative,
        "action": change.action,
        "oldText": None if change.binary else change.old_text,
        "newText": "" if change.binary else change.new_text,
        "linesAdded": change.lines_added,
        "linesRemoved": change.lines_removed,
    }
    if change.new_path is not None:
        row |= {"newPath": str(change.new_path), "newRelative": change.new_relative}
    row |= {"folder": True} if change.folder else {}
    return row | ({"binary": True} if change.binary else {})
