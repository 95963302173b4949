"""Guards against editing what the model has not seen: a file that it did not read, or that has changed since."""

from __future__ import annotations

from typing import Literal

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.tools.edit.draft_file import DraftFile
from north_lsp.workspace.workspace import Workspace

Placing = Literal["content", "lines", "whole"]
"""How an edit finds its place: by the content there, by line numbers (which are wrong once the text has changed), or it
is about the whole file."""


async def guard_stale(file: DraftFile, snapshot: str | None, placing: Placing, workspace: Workspace) -> None:
    """Check that a file is as the model means it. Raises ToolError STALE by the user's policy."""
    stale = _meant_instead(file, snapshot, placing, workspace)
    if stale is not None:
        raise await anyio.to_thread.run_sync(_stale, file, stale, workspace)


async def guard_whole(file: DraftFile, workspace: Workspace, *, is_lost: bool) -> None:
    """Check that a file to be removed or replaced is as the model has seen it. One that it has not seen may be
    moved or deleted, but its text must not be replaced. Raises ToolError STALE."""
    if file.moved_from is not None:
        await guard_whole(file.moved_from, workspace, is_lost=is_lost)
    if file.original is None or file.moved_from is not None:
        return  # it was created by the same call
    if workspace.settings.edits.stale_check == "off" or file.first_binary:
        return
    if workspace.seen.recall(file.resolved.path, file.tag) is None and not (is_lost and file.original):
        return
    await guard_stale(file, None, "whole", workspace)


def _meant_instead(file: DraftFile, snapshot: str | None, placing: Placing, workspace: Workspace) -> str | None:
    """Return the tag of the text that was meant, if the file has another one and that matters. Raises ToolError."""
    tag = file.tag
    shown = workspace.seen.recall(file.resolved.path, tag)
    policy = workspace.settings.edits.stale_check
    if snapshot:  # some models fill arguments they do not need with an empty string
        given = snapshot.rpartition("#")[2].strip("[] ")
        return given if given != tag else None
    if shown is None:
        problem = "was not read in this conversation"
        if file.resolved.path in workspace.seen.earlier:
            problem = "has changed since it was read, before the conversation was reopened"
        raise ToolError("STALE", f"{file.relative} {problem}", "read the file first")
    if shown == tag or policy == "off":
        return None
    if policy == "strict" or placing != "content":
        return shown
    file.note(f"{file.relative} has changed since it was read; the edit was applied to its current text")
    return None


def _stale(file: DraftFile, given: str, workspace: Workspace) -> ToolError:
    details: dict[str, object] = {"snapshot": f"{file.relative}#{file.tag}"}
    ranges = workspace.seen.texts.changed_lines(given, file.original or "")
    where = ""
    if ranges is not None:
        details["changedLines"] = ranges
        where = "; changed: " + ", ".join(f"{start}-{end}" if end >= start else f"{start}" for start, end in ranges)
    return ToolError(
        "STALE",
        f"{file.relative} has changed: it is {file.tag} now, not {given}{where}",
        "re-read the file and use its line numbers and snapshot",
        details,
    )
