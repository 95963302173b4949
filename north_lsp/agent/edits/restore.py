"""Undo, redo, points and diffs as texts, for the slash commands. Errors are ToolErrors."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, assert_never

import anyio.to_thread

from north_lsp.agent.edits.checkpoints import Checkpoint
from north_lsp.agent.edits.taking_back import Conflicts, FileOutcome
from north_lsp.agent.edits.totals import totals, totals_in_words
from north_lsp.agent.edits.undo import Plan, UndoHistory
from north_lsp.display import counted, fenced
from north_lsp.errors import ToolError
from north_lsp.workspace.apply.empty_folders import some_of
from north_lsp.workspace.git import run_git

_GIT_SECONDS = 10.0
_MOST_LINES = 2000


class Session(Protocol):
    """The part of a session that these functions use."""

    @property
    def undo_history(self) -> UndoHistory: ...

    async def take_back(self, prepare: Callable[[], Awaitable[tuple[Plan, str]]]) -> Plan: ...


async def undo(session: Session, steps: int = 1, conflicts: Conflicts = "skip", path: Path | None = None) -> str:
    """Undo the last changes, all or those of one file; returns what became of each file. Raises ToolError."""

    def find() -> Sequence[Checkpoint]:
        if found := session.undo_history.last(steps, path):
            return found
        raise _nothing_left(session, path, "change", "undo")

    return await _take_back(session, find, conflicts, path, "Undo")


async def redo(session: Session, steps: int = 1, conflicts: Conflicts = "skip", path: Path | None = None) -> str:
    """Redo the changes that were undone last; returns what became of each file. Raises ToolError."""

    def find() -> Sequence[Checkpoint]:
        if found := session.undo_history.last_undone(steps, path):
            return found
        raise _nothing_left(session, path, "undone change", "redo")

    return await _take_back(session, find, conflicts, path, "Redo")


def _nothing_left(session: Session, path: Path | None, what: str, verb: str) -> ToolError:
    if path is None:
        return ToolError("NOT_FOUND", f"there is no {what} left to {verb} in this conversation")
    files = [file for one in session.undo_history.all() for file in one.files]
    shown = next((file.relative for file in files if path in (file.path, file.target)), None)
    if shown is not None:
        return ToolError("NOT_FOUND", f"there is no {what} of {shown} left to {verb}")
    names = list(dict.fromkeys(file.new_relative or file.relative for file in files))
    changed = f"changed files: {some_of(names)}" if names else "no file was"
    missing = "" if os.path.lexists(path) else " (there is no such file)"
    return ToolError("NOT_FOUND", f"{path.name}{missing} was not changed in this conversation; {changed}")


async def restore(session: Session, checkpoint: str, conflicts: Conflicts = "skip") -> str:
    """Restore the files to where they were at a point or before a change. Raises ToolError."""
    found = session.undo_history.since(checkpoint)
    if not found:
        return "Nothing has changed since."
    return await _take_back(session, lambda: found, conflicts, None, "Restore the files")


async def _take_back(
    session: Session, find: Callable[[], Sequence[Checkpoint]], conflicts: Conflicts, path: Path | None, title: str
) -> str:
    async def prepare() -> tuple[Plan, str]:
        return await session.undo_history.prepare(find(), conflicts, None if path is None else [path]), title

    try:
        plan = await session.take_back(prepare)
    except ValueError as error:
        raise ToolError("CONFLICT", str(error)) from error
    return in_words(plan)


def in_words(plan: Plan) -> str:
    """Describe what became of each file, one per line, and what can be done about those that were not restored."""
    lines = [f"- `{one.relative}`: {_outcome(one)}" for one in plan.files]
    if any(one.outcome == "conflict" for one in plan.files):
        lines += [
            "",
            "Files with later changes were left. `overwrite` discards those changes, `merge` writes both versions.",
        ]
    return "\n".join(lines) if lines else "There was nothing left to change."


def _outcome(one: FileOutcome) -> str:
    match one.outcome:
        case "restored":
            words = "restored"
        case "merged":
            words = "restored around later changes"
        case "unchanged":
            words = "left as it is"
        case "conflict" | "irrecoverable":
            words = "**not restored**"
        case "overwritten":
            words = "restored; later changes are lost"
        case "marked":
            words = "both versions are in the file, between conflict markers"
        case _:
            assert_never(one.outcome)
    return f"{words} ({one.detail})" if one.detail else words


def points(session: Session) -> str:
    """List every change and every named point, the newest first, each with the id that restores it."""
    lines: list[str] = []
    for one in reversed(session.undo_history.all()):
        if one.is_point:
            lines.append(f"- **{one.title}** `{one.id}` {one.at}")
            continue
        added = sum(file.lines_added for file in one.files)
        removed = sum(file.lines_removed for file in one.files)
        names = ", ".join(f"`{file.new_relative or file.relative}`" for file in one.files)
        lines.append(f"- `{one.id}` {one.at} {one.title}: {names} (+{added}/-{removed})")
    return "\n".join(lines) if lines else "Nothing has been changed in this conversation."


async def differences(session: Session, since: str | None = None) -> str:
    """Show what the conversation has changed so far, as unified diffs. Raises ToolError NOT_FOUND."""
    rows = await session.undo_history.differences(since)
    diff = "".join(text for _, text in rows)
    if not diff.strip():
        return "No differences."
    shown = _shown(diff)
    if since is not None:
        return shown
    sums = totals(session.undo_history.all())
    return f"+{sums.lines_added}/-{sums.lines_removed} in {counted(len(rows), 'file')}\n\n{shown}"


def _shown(diff: str) -> str:
    """Cut a diff to what a chat can show."""
    lines = diff.rstrip("\n").split("\n")
    left = len(lines) - _MOST_LINES
    more = f"\n\n{left:,} more lines" if left > 0 else ""
    return fenced("\n".join(lines[:_MOST_LINES]), "diff") + more


def statistics(session: Session) -> str:
    """Sum up the changes that still hold, for the conversation and for the last turn that changed something."""
    every = session.undo_history.all()
    rows = [f"- this conversation: {totals_in_words(totals(every))}"]
    last = next((one.turn for one in reversed(every) if one.turn is not None), None)
    if last is not None:
        rows.append(f"- the last turn with changes: {totals_in_words(totals(every, last))}")
    return "\n".join(rows)


async def differences_from_git(root: Path) -> str:
    """Show how the files that git tracks differ from its last commit. Raises ToolError UNAVAILABLE."""
    found = await anyio.to_thread.run_sync(run_git, ["diff", "--no-color", "HEAD", "--"], root, _GIT_SECONDS)
    if found is None:
        raise ToolError("UNAVAILABLE", "git has no diff for this folder: it is not a repository, or has no commit yet")
    return _shown(found) if found.strip() else "No file that git tracks differs from the last commit."
