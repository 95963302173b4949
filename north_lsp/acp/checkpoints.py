"""`_north/checkpoints/*`: lists, shows and undoes changes. Tool errors become errors of the request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from north_lsp.acp import params as read
from north_lsp.acp.refusals import refusal
from north_lsp.agent.edits.checkpoints import Checkpoint, depth, live
from north_lsp.agent.edits.taking_back import Conflicts
from north_lsp.agent.edits.totals import Totals, totals
from north_lsp.agent.edits.undo import Plan, UndoHistory
from north_lsp.agent.log.checkpoints import FileRecord
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import INVALID_REQUEST, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler

_KINDS = ("edit", "undo", "redo")
_WAYS = ("steps", "redo", "checkpointId", "since", "turnId")
CONFLICTS: dict[str, Conflicts] = {"skip": "skip", "overwrite": "overwrite", "merge": "merge"}
_MAX_STEPS = 1000


def checkpoint_methods(session_of: Callable[[Params], Session]) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError."""

    async def listed(params: Params, call: Call) -> object:
        return {"checkpoints": list_checkpoints(session_of(params).undo_history.all())}

    async def name(params: Params, call: Call) -> object:
        try:
            return {"checkpointId": session_of(params).undo_history.name_point(read.text(params, "name"))}
        except ToolError as error:
            raise refusal(error, error.message) from None

    async def changes(params: Params, call: Call) -> object:
        undoing = session_of(params).undo_history
        turn = read.optional_text(params, "turnId")
        try:
            rows = await undoing.differences(read.optional_text(params, "since"))
        except ToolError as error:
            raise refusal(error, error.message) from None
        files = [{"path": str(file.path), "diff": visible(text)} for file, text in rows]
        return {"files": files, "totals": _totals(totals(undoing.all(), turn))}

    async def diff(params: Params, call: Call) -> object:
        undoing = session_of(params).undo_history
        against = read.optional_text(params, "against") or "after"
        if against not in ("after", "now"):
            raise invalid_params("against", "must be after or now")
        try:
            rows = await undoing.diffs(read.text(params, "checkpointId"), now=against == "now")
        except ToolError as error:
            raise refusal(error, error.message) from None
        return {"files": [{**_file(file), "diff": visible(text)} for file, text in rows]}

    async def restore(params: Params, call: Call) -> object:
        session = session_of(params)
        try:
            prepare = partial(_plan, session.undo_history, params, _paths(params))
            plan = (await prepare())[0] if params.get("dryRun") is True else await session.take_back(prepare)
        except ToolError as error:
            raise refusal(error, error.message) from None
        except ValueError as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None
        return outcome(plan)

    return {
        "_north/checkpoints/list": listed,
        "_north/checkpoints/name": name,
        "_north/checkpoints/changes": changes,
        "_north/checkpoints/diff": diff,
        "_north/checkpoints/restore": restore,
    }


def list_checkpoints(every: Sequence[Checkpoint]) -> list[dict[str, Any]]:
    """Return all checkpoints as they go over the wire, oldest first."""
    known, holds = {one.id: one for one in every}, live(every)
    rows: list[dict[str, Any]] = []
    for one in every:
        level = depth(one, known)
        kind = "point" if one.is_point else _KINDS[level] if level < 2 else _KINDS[2 - level % 2]
        row: dict[str, Any] = {"checkpointId": one.id, "kind": kind, "title": visible(one.title), "at": one.at}
        row |= {"turnId": one.turn} if one.turn else {}
        row |= {"toolCallId": one.call_id} if one.call_id else {}
        row["files"] = [{**_file(file), "undone": not holds[(one.id, file.path)]} for file in one.files]
        rows.append(row)
    return rows


def _totals(sums: Totals) -> dict[str, int]:
    return {
        "linesAdded": sums.lines_added,
        "linesRemoved": sums.lines_removed,
        "created": sums.created,
        "changed": sums.changed,
        "deleted": sums.deleted,
        "moved": sums.moved,
    }


def _file(file: FileRecord) -> dict[str, Any]:
    row: dict[str, Any] = {"path": str(file.path), "action": file.action}
    row |= {"newPath": str(file.new_path)} if file.new_path is not None else {}
    row |= {"folder": True} if file.folder else {}
    row |= {"linesAdded": file.lines_added, "linesRemoved": file.lines_removed}
    return row | ({"irrecoverable": True} if file.irrecoverable else {})


def _paths(params: Params) -> list[Path] | None:
    paths = params.get("paths")
    if paths is None:
        return None
    if not isinstance(paths, list) or not all(isinstance(path, str) and Path(path).is_absolute() for path in paths):
        raise invalid_params("paths", "must be a list of absolute paths")
    return [Path(path) for path in paths]


async def _plan(undo_history: UndoHistory, params: Params, paths: list[Path] | None) -> tuple[Plan, str]:
    conflicts = CONFLICTS.get(read.optional_text(params, "conflicts") or "skip")
    if conflicts is None:
        raise invalid_params("conflicts", "must be skip, overwrite or merge")
    given = [way for way in _WAYS if params.get(way) is not None]
    if len(given) != 1:
        raise invalid_params("params", f"need exactly one of {', '.join(_WAYS)}")
    only = paths[0] if paths is not None and len(paths) == 1 else None
    match given[0]:
        case "steps":
            found, title = undo_history.last(_count(params, "steps"), only), "Undo"
        case "redo":
            found, title = undo_history.last_undone(_count(params, "redo"), only), "Redo"
        case "checkpointId":
            found, title = [undo_history.find(read.text(params, "checkpointId"))], "Undo one change"
        case "since":
            found, title = undo_history.since(read.text(params, "since")), "Restore the files to before a change"
        case _:
            found, title = undo_history.of_turn(read.text(params, "turnId")), "Undo a turn"
    return await undo_history.prepare(found, conflicts, paths), title


def _count(params: Params, field: str) -> int:
    value = params.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_STEPS:
        raise invalid_params(field, f"must be a number from 1 to {_MAX_STEPS}")
    return value


def outcome(plan: Plan) -> dict[str, Any]:
    files = [
        {"path": one.relative, "outcome": one.outcome} | ({"detail": visible(one.detail)} if one.detail else {})
        for one in plan.files
    ]
    changed = [{"path": str(change.path), "action": change.action} for change in plan.changes]
    return {"checkpoints": list(plan.checkpoints), "files": files, "changed": changed}
