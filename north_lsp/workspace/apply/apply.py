"""Writes accepted changes to the disk: all or none, never half a file, and never through a link.

The steps, and what a crash after each leaves:

1. The journal is written (`journal.py`). Files are as before, and the next process removes the journal.
2. Missing folders are made, and new contents are written beside their files, under names of their own, and brought to
   the disk. Files are as before, and the next process removes these names and folders.
3. Other applications are kept out, and each file must still be what its change was made from. The same as after 2.
4. One file after the other gets its new contents (`placing.py`). Some files are new, and the next process puts back the
   old ones, which have kept a second name.
5. The editor, if it has a part in it, changes the texts that it has open. Where everything is as planned, the next
   process keeps it; otherwise it puts the files back and has the editor put its texts back.
6. `Written.keep` marks the journal as done. Everything stays, and the next process clears up.
7. The second names are removed, then the folders that are to go, then the journal. The next process goes on with it.

Without a journal a crash after 4 leaves some files new; anything but a crash puts them back.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.storage.files import sync_all
from north_lsp.storage.noting import note
from north_lsp.workspace.apply import journal
from north_lsp.workspace.apply.empty_folders import (
    FolderStep,
    check_removable,
    copy_folder_metadata,
    make_folder,
    remove_folders,
)
from north_lsp.workspace.apply.failures import explained
from north_lsp.workspace.apply.open_folders import Folder, check_in_place, enter
from north_lsp.workspace.apply.placing import (
    FileStep,
    Restoration,
    Target,
    beside,
    prepare,
    put_into_place,
    verify,
)
from north_lsp.workspace.apply.syncing import Unsynced
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.opening import mode_of
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import encode

_replacing = threading.Lock()


def apply(changes: Sequence[FileChange], roots: Roots, journals: Path | None = None) -> None:
    """Write all changes, creating the missing folders of new files.

    Raises ToolError, after which the disk is as it was: STALE if a target is no longer what the change was made from
    (other contents, a link, not a folder), OUTSIDE_WORKSPACE or DENIED for a path that no tool may write, INVALID_INPUT
    for a text that its encoding cannot represent, IO_ERROR with the path and the system's message. If restoring fails,
    too, the message names the files that stayed changed. With a folder for journals the same holds if the process is
    killed, once `journal.recover` has run.
    """
    write(changes, roots, journals).keep()


def write(
    changes: Sequence[FileChange], roots: Roots, journals: Path | None = None, editor: Sequence[FileChange] = ()
) -> Written:
    """Write as `apply` does, but let the caller decide whether it stays: `keep` or `take_back` must follow.

    `editor` are the changes that the editor is going to make itself; they are recorded in the journal.
    """
    made, gone = _folder_steps(changes, roots)
    steps = _steps([change for change in changes if not change.folder], roots)
    if (why := refusal([*changes, *editor], roots)) is not None:
        raise ToolError("DENIED", f"{why}; nothing was written")
    notes = tuple(
        journal.EditorStep(str(change.path), change.old_text, change.new_text)
        for change in editor
        if len(changes) + len(editor) > 1
    )
    always, undo = ExitStack(), Restoration()
    with ExitStack() as alone, ExitStack() as failed:
        failed.callback(always.close)
        failed.push(undo.__exit__)
        note = None
        if journals is not None and (steps or notes or made or gone):
            missing = _missing_folders(steps, made)
            gone_too = tuple((str(step.root), step.names) for step in gone)
            plan = journal.Plan(tuple(step.to_journal() for step in steps), missing, notes, gone_too)
            note = _begin(journals, plan)
            failed.pop_all()  # the journal ends last, after everything is restored
            failed.callback(_close, note, undo)
            failed.callback(always.close)
            failed.push(undo.__exit__)
        for folder in made:
            with explained(folder.change):
                make_folder(folder, always, undo.stack)
        targets: list[Target] = []
        folders: dict[tuple[Path, tuple[str, ...]], Folder] = {}
        with Unsynced() as unsynced:
            for step in steps:
                with explained(step.change):
                    place = (step.root, step.folders)
                    if place not in folders:
                        folders[place] = enter(*place, always, undo.stack if step.before is None else None)
                    targets.append(prepare(step, folders[place], unsynced, always, undo.stack))
            unsynced.finish()
        alone.enter_context(_exclusive(journals))
        for target in targets:
            with explained(target.change):
                verify(target)
        for target in targets:
            with explained(target.change):
                check_in_place(target.folder)
                put_into_place(target, always, undo)
        leaving = {step.path.parent / name for step in steps for name in (step.temporary, step.kept)}
        leaving.update(folder.path for folder in gone)
        for folder in made:
            with explained(folder.change):
                copy_folder_metadata(folder, always)
        for folder in gone:
            with explained(folder.change):
                check_removable(folder, leaving, always)
        sync_all([folder.descriptor for folder in folders.values()])  # not every file system supports it
        failed.pop_all()
    return Written(always, undo, note, gone, journals)


class Written:
    """Changes that are on the disk and can still be undone."""

    def __init__(
        self,
        always: ExitStack,
        undo: Restoration,
        note: journal.Journal | None,
        gone: Sequence[FolderStep],
        journals: Path | None,
    ) -> None:
        self._always = always
        self._undo = undo
        self._note = note
        self._gone = gone
        self._journals = journals

    def keep(self) -> tuple[str, ...]:
        """Make the changes final. Returns the folders that were to be removed, but into which something was put at the
        last moment. Raises ToolError IO_ERROR if this cannot be recorded; then the changes are undone."""
        if self._note is not None:
            try:
                self._note.keep()
            except OSError as error:
                self.take_back()
                raise _delete_backups(error) from error
        self._undo.keep()
        self._always.close()
        stay = remove_folders(self._gone)
        self._end()
        return stay

    def take_back(self) -> None:
        """Restore the disk to what it was. Raises ToolError IO_ERROR naming the files that could not be restored."""
        try:
            with _exclusive(self._journals):
                self._undo.close()
        finally:
            self._end()

    def _end(self) -> None:
        self._always.close()
        if self._note is not None:
            _close(self._note, self._undo)


def _close(note: journal.Journal, undo: Restoration) -> None:
    """End the journal, or leave it to the next process if files could not be restored."""
    if undo.stuck:
        note.leave()
    else:
        note.end()


@contextmanager
def _exclusive(journals: Path | None) -> Iterator[None]:
    """Let only one application at a time put its files into place or undo them: new contents that turn out to be stale
    are there for a moment, and nothing must build on them. Holds in this process and in all that share these
    journals."""
    with _replacing, ExitStack() as held:
        if journals is not None:
            with suppress(OSError):  # not every file system supports it
                held.callback(os.close, _lock(journals))
        yield


def _lock(folder: Path) -> int:
    """Lock a folder, however long that takes. Returns what holds it. Raises OSError."""
    try:
        return systems.lock_folder(folder)
    except BlockingIOError:
        began = time.monotonic()
        descriptor = systems.lock_folder(folder, wait=True)
        note("lock_wait", name="apply", waitedMs=round((time.monotonic() - began) * 1000), ok=True)
        return descriptor


def _begin(folder: Path, plan: journal.Plan) -> journal.Journal:
    try:
        return journal.Journal.begin(folder, plan)
    except OSError as error:
        raise _delete_backups(error) from error


def _delete_backups(error: OSError) -> ToolError:
    return ToolError(
        "IO_ERROR",
        f"North cannot write its journal ({error.strerror}), so nothing was written",
        "tell the user that North's data folder is not writable",
    )


def _steps(changes: Sequence[FileChange], roots: Roots) -> list[FileStep]:
    """Return what is to be done to each file: new contents first, removals last. Raises ToolError."""
    puts: list[FileStep] = []
    removals: list[FileStep] = []
    for change in changes:
        old = None if change.old_text is None else encode(change.old_text, change.encoding_before)
        new = None if change.action == "delete" else encode(change.new_text, change.text_encoding)
        if change.action == "rename":
            mode = change.mode if change.mode is not None else mode_of(change.path)
            puts.append(_step(change, change.target, roots, None, new, mode))
            removals.append(_step(change, change.path, roots, old, None, None))
        elif new is None:
            removals.append(_step(change, change.path, roots, old, None, None))
        else:
            puts.append(_step(change, change.path, roots, old, new, change.mode))
    steps = [*puts, *removals]
    if len({step.path for step in steps}) != len(steps):
        raise ToolError("INVALID_INPUT", "a file is changed twice in one proposal", "combine its changes")
    return steps


def _folder_steps(changes: Sequence[FileChange], roots: Roots) -> tuple[list[FolderStep], list[FolderStep]]:
    """Return the folders to be created, the outer ones first, and those to be removed. Raises ToolError."""
    made: list[FolderStep] = []
    gone: list[FolderStep] = []
    for change in changes:
        if change.folder and change.action != "delete":
            mode = mode_of(change.path) if change.action == "rename" else change.mode
            made.append(FolderStep(change, _root_of(change, change.target, roots), change.target, mode))
        if change.folder and change.action != "create":
            gone.append(FolderStep(change, _root_of(change, change.path, roots), change.path))
    return sorted(made, key=lambda step: len(step.names)), gone


def _step(
    change: FileChange, path: Path, roots: Roots, before: bytes | None, after: bytes | None, mode: int | None
) -> FileStep:
    root = _root_of(change, path, roots)
    return FileStep(change, root, path, before, after, mode, beside(path.name, "tmp"), beside(path.name, "old"))


def _root_of(change: FileChange, path: Path, roots: Roots) -> Path:
    """Return the root of a path that tools may write. Raises ToolError."""
    root = roots.root_of(path)
    if root is None or path == root or ".." in path.parts:
        raise ToolError("OUTSIDE_WORKSPACE", f"{path} is not in the workspace; nothing was written")
    return root


def _missing_folders(steps: Sequence[FileStep], made: Sequence[FolderStep]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    missing: dict[tuple[str, tuple[str, ...]], None] = {}
    needed = [(step.root, step.folders) for step in steps if step.before is None]
    for root, folders in (*needed, *((step.root, step.names) for step in made)):
        for depth in range(len(folders), 0, -1):
            if os.path.lexists(root.joinpath(*folders[:depth])):
                break
            missing[(str(root), folders[:depth])] = None
    return tuple(missing)
