"""Applies an accepted proposal to the editor's open texts and to the disk, or to neither."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import field, replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.ports.editor import OpenTexts
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.support.texts import TextsAhead, text_of
from north_lsp.workspace.apply.apply import write
from north_lsp.workspace.apply.empty_folders import some_of
from north_lsp.workspace.apply.open_folders import remove_empty
from north_lsp.workspace.edit.diff import make_folder_change, with_texts
from north_lsp.workspace.edit.merge import merge
from north_lsp.workspace.proposal import Action, EditProposal, FileChange
from north_lsp.workspace.workspace import Workspace

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Applied:
    """The files that were written, and notices about them: a file that changed meanwhile was merged, or needed no
    change. `accepted` has the accepted text of each file that the editor wrote differently, as editors with a formatter
    do; `by_editor` counts the files that the editor wrote, and not North."""

    files: tuple[FileChange, ...]
    notices: tuple[str, ...] = ()
    accepted: Mapping[Path, str] = field(default_factory=dict)
    by_editor: int = 0


async def apply_proposal(
    proposal: EditProposal, workspace: Workspace, documents: OpenTexts, checkpoints: Checkpoints
) -> Applied:
    """Write all files of a proposal. A text that has changed since is merged where its changes do not touch the
    proposal's. Raises ToolError when that is not possible or something cannot be written; then nothing is written."""
    with anyio.CancelScope(shield=True):
        for attempt in range(1, _ATTEMPTS + 1):
            fresh = await _refreshed(proposal.files, workspace)
            if not fresh.files:
                return fresh
            entry = await checkpoints.record(proposal.tool_call_id or None, proposal.summary, fresh.files)
            try:
                stay, files, by_editor = await _write(fresh.files, workspace, documents, checkpoints)
            except ToolError as error:
                checkpoints.set_status(entry, "failed")
                if error.code != "STALE" or attempt == _ATTEMPTS or not await _is_newer(fresh.files, workspace):
                    raise
                continue
            except BaseException:
                checkpoints.set_status(entry, "failed")
                raise
            accepted = {old.target: old.new_text for old, new in zip(fresh.files, files, strict=True) if new is not old}
            await checkpoints.finish_applied(entry, files if accepted else None)
            if any(change.undoes for change in fresh.files):
                made = {folder for one in checkpoints.all() for folder in one.folders}
                await anyio.to_thread.run_sync(_remove_folders, fresh.files, made, workspace)
            said = [
                f"{name} is still there: something was added to it at the last moment, or it is in use" for name in stay
            ]
            said += [f"the editor changed {one.shown} while writing it" for one in files if one.target in accepted]
            return Applied(files, (*fresh.notices, *said), accepted, by_editor)
    raise AssertionError("the last attempt returns or raises")


async def take_written(proposal: EditProposal, checkpoints: Checkpoints) -> Applied:
    """Record what the editor has written itself, so that it can be undone."""
    with anyio.CancelScope(shield=True):
        entry = await checkpoints.record(proposal.tool_call_id or None, proposal.summary, proposal.files)
        await checkpoints.finish_applied(entry, None)
    return Applied(proposal.files, by_editor=len(proposal.files))


def _remove_folders(files: Sequence[FileChange], made: Set[Path], workspace: Workspace) -> None:
    """Remove the folders that were made for the files of an edit that is undone, if nothing else is in them."""
    gone = [change.path for change in files if change.undoes and change.action in ("delete", "rename")]
    for path in gone:
        for folder in path.parents:
            root = workspace.roots.root_of(folder)
            if folder not in made or root is None or folder == root:
                break
            if not remove_empty(root, folder.relative_to(root).parts):
                break


async def _is_newer(files: Sequence[FileChange], workspace: Workspace) -> bool:
    """Tell whether a text has changed since it was last read, so that another attempt may help."""
    try:
        return (await _refreshed(files, workspace)).files != tuple(files)
    except ToolError:
        return False


async def _write(
    files: Sequence[FileChange], workspace: Workspace, documents: OpenTexts, checkpoints: Checkpoints
) -> tuple[tuple[str, ...], tuple[FileChange, ...], int]:
    """Write to the disk first, since that can be undone without a trace, then to the editor; then keep both. Returns
    the folders that were to be removed and could not be, the changes as the editor made them, and how many of them it
    made."""
    mine = await _owned_by_editor(files, workspace, documents)
    rest = [change for change in files if change not in mine]
    rest += await anyio.to_thread.run_sync(_folders_for, mine, rest)
    made: dict[int, FileChange] = {}
    work = partial(write, rest, workspace.roots, checkpoints.journals, mine)
    written = await anyio.to_thread.run_sync(work)
    try:
        if mine:
            mine, claimed = await documents.apply(mine), mine
            made = {id(before): after for before, after in zip(claimed, mine, strict=True)}
    except ToolError as error:
        await anyio.to_thread.run_sync(written.take_back)
        if error.code != "UNAVAILABLE" or not await _are_saved(mine, workspace):
            raise
        work = partial(write, files, workspace.roots, checkpoints.journals)
        written, mine = await anyio.to_thread.run_sync(work), ()
    except BaseException:
        await anyio.to_thread.run_sync(written.take_back)
        raise
    try:
        stay = await anyio.to_thread.run_sync(written.keep)
        await documents.learn_of_disk([change for change in files if id(change) not in made])
        return stay, tuple(made.get(id(change), change) for change in files), len(mine)
    except ToolError as error:
        try:
            if mine:
                await documents.apply([_reversed(change) for change in mine])
        except ToolError as again:
            names = ", ".join(change.relative for change in mine)
            told = f"{error.message}; the editor could not undo its changes ({again.message}): {names}"
            raise ToolError("IO_ERROR", told, "tell the user, and read these files again") from error
        raise


async def _owned_by_editor(
    files: Sequence[FileChange], workspace: Workspace, documents: OpenTexts
) -> Sequence[FileChange]:
    """Return the changes that the editor is to write. A hard-linked file is written to the disk, which leaves its other
    names as they are: an editor would write through them, wherever they lead. Raises ToolError CONFLICT if such a file
    has unsaved changes."""
    mine = await documents.changes_owned_by_editor(files)
    linked = await anyio.to_thread.run_sync(lambda: [change for change in mine if has_other_names(change.path)])
    for change in linked:
        if not await _are_saved([change], workspace):
            raise ToolError(
                "CONFLICT",
                f"{change.relative} has unsaved changes in the editor, and hard links through which the editor "
                "would write; nothing was written",
                "ask the user to save it",
            )
    return [change for change in mine if change not in linked]


def has_other_names(path: Path) -> bool:
    """Tell whether a file has hard links."""
    try:
        return os.lstat(path).st_nlink > 1
    except OSError:
        return False


def _reversed(change: FileChange) -> FileChange:
    action: Action = "delete" if change.old_text is None else "update"
    return replace(with_texts(change, change.new_text, change.old_text or ""), action=action, disk_tag=None)


def _folders_for(mine: Sequence[FileChange], rest: Sequence[FileChange]) -> list[FileChange]:
    """Return the folders that must be created for the editor's new files: not every editor creates them."""
    meant = {change.target for change in rest if change.folder}
    missing = {
        change.path.parent: make_folder_change(change.path.parent, str(Path(change.relative).parent), "create")
        for change in mine
        if change.action == "create" and not os.path.lexists(change.path.parent)
    }
    return [change for path, change in missing.items() if path not in meant]


async def _are_saved(files: Sequence[FileChange], workspace: Workspace) -> bool:
    """Tell whether the disk has what the editor shows, so that writing to the disk loses nothing."""
    for change in files:
        if change.old_text is None:
            continue
        try:
            if (await text_of(change.path, workspace))[1] != "disk":
                return False
        except ToolError:
            return False
    return True


async def _refreshed(files: Sequence[FileChange], workspace: Workspace) -> Applied:
    """Return the changes against the current texts. Raises ToolError STALE."""
    await anyio.to_thread.run_sync(_check_places, files, workspace)
    fresh: list[FileChange] = []
    notices: list[str] = []
    texts = TextsAhead(workspace)
    await texts.read(change.path for change in files if not (change.folder or change.binary))
    for change in files:
        if change.folder:
            now = await anyio.to_thread.run_sync(_fresh_folder, change, files)
        else:
            now = await _fresh(change, texts)
        if now is None:
            notices.append(f"{change.relative} needed no change")
            continue
        if (now.old_text, now.new_text) != (change.old_text, change.new_text):
            notices.append(f"{change.relative} changed while the edit was waiting; both changes were merged")
        fresh.append(now)
    return Applied(tuple(fresh), tuple(notices))


def _check_places(files: Sequence[FileChange], workspace: Workspace) -> None:
    """Check that the paths still lead where they did (a command may have swapped a link), and that none has become a
    closed file. Raises ToolError."""
    gate = workspace.trees.gate()
    for change in files:
        for path in change.paths:
            if gate.resolve(str(path)).path != path:
                raise ToolError(
                    "STALE",
                    f"{change.relative} now points to a different file; nothing was written",
                    "list the folder again",
                )


async def _fresh(change: FileChange, texts: TextsAhead) -> FileChange | None:
    """Return the change against the current text; None if there is nothing left to do. Raises ToolError STALE."""
    if change.binary:
        return change  # its bytes are compared when they are written
    try:
        text, source = await texts.take(change.path)
    except ToolError as error:
        if error.code != "NOT_FOUND":
            raise
        if change.old_text is None:
            return change
        raise _stale(change, "was deleted") from None
    if change.action in ("delete", "rename") and source == "editor":
        raise _stale(change, "has unsaved changes in the editor that were made")
    if change.old_text is None:
        if text.text == change.new_text:
            return None
        raise _stale(change, "was created")
    old = change.old_text
    if source == "disk":
        change = replace(change, disk_tag=text.on_disk)
    if text.text == old:
        return change
    if change.action == "delete":
        raise _stale(change, "has changed")
    merged = await anyio.to_thread.run_sync(merge, old, text.text, change.new_text)
    if merged.conflicts:
        first = merged.conflicts[0]
        where = f"line {first.start}" if first.end <= first.start else f"lines {first.start}-{first.end}"
        raise _stale(change, f"has changed in the same place ({where})")
    if merged.text == text.text and change.action == "update":
        return None
    made = await anyio.to_thread.run_sync(with_texts, change, text.text, merged.text)
    form = text.form if change.old_encoding is None else change.text_encoding
    return replace(made, text_encoding=form, old_encoding=text.form if form != text.form else None)


def _fresh_folder(change: FileChange, files: Sequence[FileChange]) -> FileChange | None:
    """Return the change of an empty folder against the current state, like `_fresh`; what the other changes take out of
    it does not count. Raises ToolError STALE."""
    stands = os.path.lexists(change.path)
    if change.action == "create":
        if not stands:
            return change
        if os.path.isdir(change.path) and not os.path.islink(change.path):
            return None
        raise _stale(change, "was created")
    if not stands:
        if change.action == "delete":
            return None
        raise _stale(change, "was deleted")
    if os.path.islink(change.path) or not os.path.isdir(change.path):
        raise _stale(change, "is no longer a folder")
    if change.action == "rename" and os.path.lexists(change.target):
        raise _stale(change, f"cannot be moved: {change.shown} was created")
    leaving = {one.path for one in files if one.action in ("delete", "rename")}
    try:
        left = sorted(name for name in os.listdir(change.path) if change.path / name not in leaving)
    except OSError as error:
        raise ToolError(
            "IO_ERROR", f"{change.relative} cannot be read: {error.strerror}; nothing was written"
        ) from error
    if left:
        raise _stale(change, f"is not empty ({some_of(left)}), or something was added to it")
    return change


def _stale(change: FileChange, happened: str) -> ToolError:
    return ToolError(
        "STALE",
        f"{change.relative} {happened} since the edit was prepared; nothing was written",
        "re-read the file and redo the edit",
        {"path": str(change.path)},
    )
