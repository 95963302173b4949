"""Cleans up what a killed process left half written in this project."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.edits.checkpoints import Checkpoint, Checkpoints
from north_lsp.agent.edits.disk_check import remove_created
from north_lsp.agent.log.checkpoints import FileRecord
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.reviews import EditRequest, ReviewEntry
from north_lsp.agent.ports.editor import OpenTexts
from north_lsp.errors import ToolError
from north_lsp.tools.support.texts import text_of
from north_lsp.workspace.apply.apply import apply
from north_lsp.workspace.apply.journal import EditorStep, editor_steps, recover, unfinished
from north_lsp.workspace.edit.diff import make_change
from north_lsp.workspace.edit.merge import merge
from north_lsp.workspace.opening import open_real
from north_lsp.workspace.text import encode, to_newlines
from north_lsp.workspace.workspace import Workspace


async def recover_project(journals: Path, workspace: Workspace, documents: OpenTexts) -> list[str]:
    """Undo every half-done application whose process is dead, in the editor as well; returns what was done, as
    notices."""
    told: list[str] = []
    with anyio.CancelScope(shield=True):
        for path in await anyio.to_thread.run_sync(unfinished, journals):
            texts = {step.path: await _shown_text(Path(step.path), workspace) for step in editor_steps(path)}
            try:
                done = await anyio.to_thread.run_sync(recover, path, texts)
            except OSError as error:
                told.append(f"an interrupted edit could not be undone yet: {error.strerror}")
                continue
            if done is None:
                continue
            stuck = [*done.changed, *await _reverse(done.reverse, workspace, documents)]
            if done.taken_back:
                names = ", ".join(done.files)
                told.append(f"an interrupted edit was undone; these files were restored: {names}")
            if stuck:
                told.append(f"these files have changed since and were left as they are: {', '.join(stuck)}")
    return told


def interrupted_edits(checkpoints: Checkpoints) -> list[str]:
    """Tell the model, for each edit that it got no result of, whether it was applied."""
    told: list[str] = []
    for one in checkpoints.unanswered():
        names = ", ".join(file.new_relative or file.relative for file in one.files)
        if all(_is_after(file) for file in one.files):
            stands = "it was applied, and the files are as proposed"
        elif all(_is_before(file) for file in one.files):
            stands = "it was not applied, and the files are unchanged"
        else:
            stands = "read the files before you continue: they are neither as before nor as proposed"
        told.append(f"[North was interrupted during the edit of {names}; {stands}]")
    return told


async def changed_since(reviews: Sequence[Logged], workspace: Workspace) -> list[str]:
    """Return the files that have another text now than when these edits were proposed. Edits that find their place by
    the text around it can be made there again."""
    files = [
        file
        for one in reviews
        if isinstance(one.entry, ReviewEntry) and isinstance(one.entry.request, EditRequest)
        for file in one.entry.request.files
        if not file.folder and not file.binary
    ]
    changed = [file for file in files if await _shown_text(file.path, workspace) != file.old_text]
    for file in changed:
        if file.old_text is not None:
            workspace.seen.meant(file.path, file.old_text)
    return [file.relative for file in changed]


async def finish_interrupted(checkpoints: Checkpoints, workspace: Workspace) -> None:
    """Settle the status of each unfinished edit by the files, so that an undo does not begin with an edit that was
    undone. Must be called after what a killed process left has been recovered."""
    for one in checkpoints.all():
        if one.status != "pending":
            continue
        files = [file for file in one.files if not file.folder]
        now = {path: await _shown_digest(path, workspace) for file in files for path in (file.path, file.target)}
        if all(now[file.path] == file.before for file in files) and all(map(_is_before, _folders(one))):
            checkpoints.set_status(one.entry_id, "failed")
        elif all(now[file.target] == file.after for file in files) and all(map(_is_after, _folders(one))):
            checkpoints.set_status(one.entry_id, "applied")


def _folders(one: Checkpoint) -> list[FileRecord]:
    return [file for file in one.files if file.folder]


async def _shown_digest(path: Path, workspace: Workspace) -> str | None:
    """Return the digest of what the editor shows, or else of what is on the disk."""
    try:
        text = (await text_of(path, workspace))[0]
        return hashlib.sha256(encode(text.text, text.form)).hexdigest()
    except ToolError:
        return await anyio.to_thread.run_sync(_digest, path)


def _is_after(file: FileRecord) -> bool:
    if file.folder:
        return os.path.isdir(file.target) == (file.action != "delete")
    return _digest(file.target) == file.after


def _is_before(file: FileRecord) -> bool:
    if file.folder:
        return os.path.isdir(file.path) == (file.action != "create")
    return _digest(file.path) == file.before


def _digest(path: Path) -> str | None:
    try:
        with open(open_real(path), "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


async def _shown_text(path: Path, workspace: Workspace) -> str | None:
    try:
        return (await text_of(path, workspace))[0].text
    except ToolError:
        return None


async def _reverse(steps: tuple[EditorStep, ...], workspace: Workspace, documents: OpenTexts) -> list[str]:
    """Give the editor its old texts back; returns the paths for which that was not possible."""
    stuck: list[str] = []
    for step in steps:
        path = Path(step.path)
        try:
            if step.before is None and os.path.lexists(path):
                await anyio.to_thread.run_sync(remove_created, path, path.name, step.after)
                continue
            text = (await text_of(path, workspace))[0]
            back = await anyio.to_thread.run_sync(_without, text.text, step)
            if back is None:
                stuck.append(step.path)
                continue
            if back == text.text:
                continue
            change = make_change(path, path.name, text.text, back, text.form)
            if await documents.changes_owned_by_editor([change]):
                await documents.apply([change])
            else:
                await anyio.to_thread.run_sync(apply, [change], workspace.roots)
        except ToolError:
            stuck.append(step.path)
    return stuck


def _without(text: str, step: EditorStep) -> str | None:
    """Remove a step's change from a text, even if the editor or the user has edited it since; None if the changes
    overlap."""
    before = step.before or ""
    if to_newlines(text, "\n") == to_newlines(step.after, "\n"):
        return before
    merged = merge(step.after, text, before)
    return None if merged.conflicts else merged.text
