"""Reviewing and applying an edit proposal, and what the model is told became of it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.agent.applying import apply_proposal
from north_lsp.agent.deciding import record, remember
from north_lsp.agent.editor import EditDecision, EditReview
from north_lsp.agent.events import CallEnded, CallProposes, CallRunning
from north_lsp.agent.results import Result, StopTurn, ok
from north_lsp.agent.state import TurnState
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.base import Location
from north_lsp.tools.texts import text_of
from north_lsp.workspace.diff import apply_hunks, make_change
from north_lsp.workspace.proposal import EditProposal, FileChange, Hunk
from north_lsp.workspace.protected import WriteRule, write_rule_on_disk

_REGION_LINES = 40
_MAX_EDIT_CHARACTERS = 12_000_000
_STATUSES = {"accept": "accepted", "always": "always", "reject": "rejected", "stop": "cancelled"}


async def review_edit(
    state: TurnState, call: ToolCall, title: str, changes: Sequence[FileChange], keep: Callable[[Result], None]
) -> Result:
    """Ask, unless edits are accepted automatically, and apply what was accepted. `keep` gets the result of what was
    written even when the turn is cancelled at that moment. Raises StopTurn and ToolError."""
    files = tuple(changes)
    if all(change.old_text == change.new_text for change in files):
        text = "No change: the text is already so."
        return Result(ok({"applied": False, "reason": "no change"}), False, CallEnded(call.id, title, True, text))
    size = sum(len(change.old_text or "") + len(change.new_text) for change in files)
    if size > _MAX_EDIT_CHARACTERS:
        raise ToolError(
            "TOO_LARGE", f"the edit shows {size} characters; at most {_MAX_EDIT_CHARACTERS} can be reviewed"
        )
    warnings = await _warnings(state, call, files)
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
        decision = await state.editor.review_edit(EditReview(proposal, shown, not warnings, warnings))
        status = _STATUSES[decision.kind]
    accepted = accepted_part(proposal, decision)
    if status in ("accepted", "always") and not accepted.files:
        status = "rejected"
    if status == "always":
        await remember(state, state.approvals.enable_edits_auto_accept)
    if status in ("rejected", "cancelled"):
        record(state, review["id"], status, decision.comment)
        if status == "cancelled":
            raise StopTurn
        data: dict[str, object] = {"applied": False, "reason": "rejected"} | _comment(decision)
        ended = CallEnded(call.id, shown, False, "Rejected; nothing was written.", files)
        return Result(ok(data), False, ended)
    await state.editor.show(CallRunning(call.id))
    with anyio.CancelScope(shield=True):  # once it is being written, the result says what was written
        try:
            await apply_proposal(accepted, state.workspace, state.editor)
        except ToolError:
            record(state, review["id"], "failed", decision.comment)
            raise
        parts = _parts(decision)
        record(state, review["id"], status, decision.comment, **parts)
        data = {"applied": True, "files": [await _applied(state, change) for change in accepted.files]}
        data |= _comment(decision) | _left_out(proposal, decision)
        places = tuple(Location(change.path, _first_line(change)) for change in accepted.files)
        done = _counted(title, accepted.files)
        result = Result(ok(data), False, CallEnded(call.id, done, True, "", accepted.files, places))
        keep(result)
    return result


def accepted_part(proposal: EditProposal, decision: EditDecision) -> EditProposal:
    """What a decision leaves of a proposal: the accepted hunks, or the texts that the user made of it."""
    files: list[FileChange] = []
    for change in proposal.files:
        text = change.new_text
        if change.path in decision.texts:
            text = decision.texts[change.path]
        elif decision.hunks is not None:
            chosen = [hunk for hunk in change.hunks if hunk.id in decision.hunks.get(change.path, ())]
            if change.old_text is None:
                text = change.new_text if len(chosen) == len(change.hunks) else ""
                if not text and change.new_text:
                    continue
            else:
                text = apply_hunks(change.old_text, chosen)
        if text == change.new_text:
            files.append(change)
        elif text != change.old_text:
            made = make_change(change.path, change.relative, change.old_text, text, change.form)
            files.append(dataclasses.replace(made, make_executable=change.make_executable))
    return dataclasses.replace(proposal, files=tuple(files))


def _left_out(proposal: EditProposal, decision: EditDecision) -> dict[str, object]:
    """For the model: which hunks stand and which do not, and what the user changed in the proposed text."""
    told: dict[str, object] = {}
    if decision.hunks is not None:
        stand: list[str] = []
        fell: list[dict[str, str]] = []
        for change in proposal.files:
            if change.path in decision.texts:
                continue
            for hunk in change.hunks:
                if hunk.id in decision.hunks.get(change.path, ()):
                    stand.append(_place(change, hunk))
                else:
                    fell.append({"header": _place(change, hunk), "text": hunk.text})
        if fell:
            told |= {"partial": True, "acceptedHunks": stand, "rejectedHunks": fell}
    edited = [
        made
        for change in proposal.files
        if (text := decision.texts.get(change.path)) is not None and text != change.new_text
        for made in [make_change(change.path, change.relative, change.new_text, text, change.form)]
    ]
    if edited:
        told["changedByUser"] = [
            {"path": made.relative, "diff": "".join(f"{hunk.header}\n{hunk.text}" for hunk in made.hunks)}
            for made in edited
        ]
    return told


def _place(change: FileChange, hunk: Hunk) -> str:
    return f"{change.relative} {hunk.header}"


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
    warnings: list[str] = []
    for change in files:
        rule = await anyio.to_thread.run_sync(_write_rule, state, change, str(call.arguments.get("path", "")))
        if rule == "never":
            raise ToolError("OUTSIDE_WORKSPACE", f"{change.relative} is protected and never written by tools")
        if rule == "ask":
            warnings.append(f"{change.relative} is a protected file: it asks every time")
    return tuple(warnings)


def _write_rule(state: TurnState, change: FileChange, spelled: str) -> WriteRule:
    root = next(root for root in state.workspace.roots.roots if change.path.is_relative_to(root))
    return write_rule_on_disk(change.path, root, state.workspace.private, spelled)


def _counted(title: str, files: Sequence[FileChange]) -> str:
    added, removed = sum(file.lines_added for file in files), sum(file.lines_removed for file in files)
    return one_line(f"{title} (+{added}/-{removed})")


def _first_line(change: FileChange) -> int:
    return change.hunks[0].new_start if change.hunks else 1


async def _applied(state: TurnState, change: FileChange) -> Mapping[str, object]:
    """What stands there now, so that the model need not read it again."""
    counts = {"path": change.relative, "linesAdded": change.lines_added, "linesRemoved": change.lines_removed}
    try:
        text = (await text_of(change.path, state.workspace))[0]
    except ToolError:
        return counts
    state.workspace.seen.tags[change.path] = text.tag
    start = _first_line(change)
    end = change.hunks[-1].new_start + change.hunks[-1].new_lines - 1 if change.hunks else 0
    lines = text.text.split("\n")[start - 1 : min(end, start + _REGION_LINES - 1)]
    region = {"start": start, "end": start + len(lines) - 1, "content": "\n".join(lines)}
    return {**counts, "snapshot": f"{change.relative}#{text.tag}", "region": region}


def _change_to_log(change: FileChange) -> dict[str, Any]:
    return {
        "path": str(change.path),
        "relative": change.relative,
        "action": change.action,
        "oldText": change.old_text,
        "newText": change.new_text,
        "linesAdded": change.lines_added,
        "linesRemoved": change.lines_removed,
    }
