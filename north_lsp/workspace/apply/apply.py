"""Writing accepted changes to the disk: all or none, never half a file, and never through a link."""

import errno
import fcntl
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.workspace.apply import journal
from north_lsp.workspace.apply.atomic_exchange import exchange_names
from north_lsp.workspace.apply.empty_folders import (
    FolderStep,
    check_removable,
    copy_folder_metadata,
    make_folder,
    remove_folders,
)
from north_lsp.workspace.apply.open_folders import Folder, check_in_place, enter
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.paths import Roots, kind_of
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import OPEN_FLAGS, encode

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_BITS = 0o444
_SAFE_BITS = 0o777
_MAX_NAME_BYTES = 255
_NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
_replacing = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Step:
    """One file of a change: what must be there now and what is to be there afterwards (None: nothing); `mode` is for a
    new file."""

    change: FileChange
    root: Path
    path: Path
    before: bytes | None
    after: bytes | None
    mode: int | None
    temporary: str
    kept: str

    @property
    def folders(self) -> tuple[str, ...]:
        return self.path.relative_to(self.root).parts[:-1]

    def to_journal(self) -> journal.Step:
        before, after = (None if data is None else journal.digest(data) for data in (self.before, self.after))
        return journal.Step(str(self.root), self.folders, self.path.name, before, after, self.temporary, self.kept)


@dataclass(frozen=True, slots=True)
class _Target:
    """A step with its folder held open."""

    step: _Step
    folder: Folder

    @property
    def change(self) -> FileChange:
        return self.step.change

    @property
    def name(self) -> str:
        return self.step.path.name

    @property
    def before(self) -> bytes | None:
        return self.step.before


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
) -> "Written":
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
    always, undo = ExitStack(), _Undo()
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
            with _explained(folder.change):
                make_folder(folder, always, undo.stack)
        targets: list[_Target] = []
        for step in steps:
            with _explained(step.change):
                targets.append(_prepare(step, always, undo.stack))
        alone.enter_context(_exclusive(journals))
        for target in targets:
            with _explained(target.change):
                _verify(target)
        for target in targets:
            with _explained(target.change):
                check_in_place(target.folder)
                _replace(target, always, undo)
        leaving = {step.path.parent / name for step in steps for name in (step.temporary, step.kept)}
        leaving.update(folder.path for folder in gone)
        for folder in made:
            with _explained(folder.change):
                copy_folder_metadata(folder, always)
        for folder in gone:
            with _explained(folder.change):
                check_removable(folder, leaving, always)
        for descriptor in {target.folder.descriptor for target in targets}:
            with suppress(OSError):  # not every file system supports it
                os.fsync(descriptor)
        failed.pop_all()
    return Written(always, undo, note, gone, journals)


class Written:
    """Changes that are on the disk and can still be taken back."""

    def __init__(
        self,
        always: ExitStack,
        undo: "_Undo",
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
        last moment. Raises ToolError IO_ERROR if this cannot be recorded; then the changes are taken back."""
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


def _close(note: journal.Journal, undo: "_Undo") -> None:
    """End the journal, or leave it to the next process if files could not be restored."""
    if undo.stuck:
        note.leave()
    else:
        note.end()


@contextmanager
def _exclusive(journals: Path | None) -> Iterator[None]:
    """Let only one application at a time put its files into place or take them back: new contents that turn out to be
    stale are there for a moment, and nothing must build on them. Holds in this process and in all that share these
    journals."""
    with _replacing, ExitStack() as held:
        if journals is not None:
            with suppress(OSError):  # not every file system supports it
                descriptor = os.open(journals, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                held.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


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


def _steps(changes: Sequence[FileChange], roots: Roots) -> list[_Step]:
    """Return what is to be done to each file: new contents first, removals last. Raises ToolError."""
    puts: list[_Step] = []
    removals: list[_Step] = []
    for change in changes:
        old = None if change.old_text is None else encode(change.old_text, change.encoding_before)
        new = None if change.action == "delete" else encode(change.new_text, change.text_encoding)
        if change.action == "rename":
            mode = change.mode if change.mode is not None else _mode_of(change.path)
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
            mode = _mode_of(change.path) if change.action == "rename" else change.mode
            made.append(FolderStep(change, _root_of(change, change.target, roots), change.target, mode))
        if change.folder and change.action != "create":
            gone.append(FolderStep(change, _root_of(change, change.path, roots), change.path))
    return sorted(made, key=lambda step: len(step.names)), gone


def _mode_of(path: Path) -> int | None:
    with suppress(OSError):
        return stat.S_IMODE(os.lstat(path).st_mode)
    return None


def _step(
    change: FileChange, path: Path, roots: Roots, before: bytes | None, after: bytes | None, mode: int | None
) -> _Step:
    root = _root_of(change, path, roots)
    return _Step(change, root, path, before, after, mode, _beside(path.name, "tmp"), _beside(path.name, "old"))


def _root_of(change: FileChange, path: Path, roots: Roots) -> Path:
    """Return the root of a path that tools may write. Raises ToolError."""
    root = roots.root_of(path)
    if root is None or path == root or ".." in path.parts:
        raise ToolError("OUTSIDE_WORKSPACE", f"{path} is not in the workspace; nothing was written")
    return root


def _missing_folders(steps: Sequence[_Step], made: Sequence[FolderStep]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    missing: dict[tuple[str, tuple[str, ...]], None] = {}
    needed = [(step.root, step.folders) for step in steps if step.before is None]
    for root, folders in (*needed, *((step.root, step.names) for step in made)):
        for depth in range(len(folders), 0, -1):
            if os.path.lexists(root.joinpath(*folders[:depth])):
                break
            missing[(str(root), folders[:depth])] = None
    return tuple(missing)


class _Undo:
    """Restores the files of an application that was not finished, unless it is kept. `stuck` are the files that could
    not be restored: their old contents stay beside them, for another attempt."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.stuck: dict[Path, str] = {}

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.stack.close()
        if self.stuck and error is not None:
            raise self._complaint(str(error)) from error

    def close(self) -> None:
        """Restore everything. Raises ToolError IO_ERROR."""
        self.stack.close()
        if self.stuck:
            raise self._complaint("the edit was taken back")

    def _complaint(self, before: str) -> ToolError:
        names = list(self.stuck.values())
        message = (
            f"{before}; restoring these files failed as well, they are changed: {', '.join(names)}. Their old "
            "contents are kept, and North tries again when a conversation is opened"
        )
        return ToolError("IO_ERROR", message, "tell the user", {"changed": names})

    def keep(self) -> None:
        self.stack.pop_all()

    def file(self, target: _Target, put_back: Callable[[], None]) -> None:
        def attempt() -> None:
            try:
                put_back()
            except OSError:
                self.stuck[target.step.path] = target.change.relative

        self.stack.callback(attempt)

    def drop(self, target: _Target, name: str) -> None:
        """Remove the backup beside a file, unless it is still needed."""
        if target.step.path not in self.stuck:
            _unlink(name, target.folder.descriptor)


@contextmanager
def _explained(change: FileChange) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        name = errno.errorcode.get(error.errno or 0, "")
        raise ToolError(
            "IO_ERROR",
            f"{change.relative} could not be written: {reason}; nothing was changed",
            "find out why the file cannot be written before you try again",
            {"path": str(change.path), "error": reason, "errno": name},
        ) from error


def _prepare(step: _Step, always: ExitStack, undo: ExitStack) -> _Target:
    """Write the new contents, if any, beside the target under a temporary name."""
    folder = enter(step.root, step.folders, always, undo if step.before is None else None)
    target = _Target(step, folder)
    if step.after is None:
        return target
    if step.before is None:
        descriptor = os.open(step.temporary, _CREATE_FLAGS, 0o666, dir_fd=folder.descriptor)
    else:
        old = _status(target)
        descriptor = os.open(step.temporary, _CREATE_FLAGS, 0o600, dir_fd=folder.descriptor)
    always.callback(_unlink, step.temporary, folder.descriptor)
    undo.callback(_unlink, step.temporary, folder.descriptor)  # before the folders that were created for it are removed
    with open(descriptor, "wb") as file:
        file.write(step.after)
        file.flush()
        if step.before is not None:
            _copy_metadata(descriptor, old)
        if step.mode is not None:
            os.fchmod(descriptor, step.mode & _SAFE_BITS)
        if step.change.make_executable:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            os.fchmod(descriptor, mode | (mode & _READ_BITS) >> 2)
        os.fsync(descriptor)
    return target


def _copy_metadata(descriptor: int, old: os.stat_result) -> None:
    """Copy owner and mode of the old file, as far as the user is allowed to set them."""
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _status(target: _Target) -> os.stat_result:
    """Return the target's own status, which must be that of a file. Raises ToolError STALE, and OSError."""
    try:
        status = os.stat(target.name, dir_fd=target.folder.descriptor, follow_symlinks=False)
    except FileNotFoundError as error:
        raise _stale(target, "was deleted") from error
    if not stat.S_ISREG(status.st_mode):
        raise _stale(target, f"has become {kind_of(status.st_mode)}")
    return status


def _verify(target: _Target) -> None:
    """Check that a target is what its change was made from. Raises ToolError STALE, and OSError."""
    if target.before is not None:
        _status(target)
        _check_contents(target, target.name, target.before)
        return
    try:
        os.stat(target.name, dir_fd=target.folder.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return
    raise _stale(target, "was created")


def _check_contents(target: _Target, name: str, before: bytes) -> None:
    """Check that the file of this name in the target's folder has the contents that the change was made from. Raises
    ToolError STALE, and OSError."""
    try:
        descriptor = os.open(name, OPEN_FLAGS, dir_fd=target.folder.descriptor)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):
            raise _stale(target, "was replaced") from error
        raise
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or file.read(len(before) + 1) != before:
            raise _stale(target, "has changed")


def _replace(target: _Target, always: ExitStack, undo: _Undo) -> None:
    """Put the new contents into place, and register how to undo it."""
    at, step = target.folder.descriptor, target.step
    if target.before is None:
        _verify(target)
        made = os.stat(step.temporary, dir_fd=at, follow_symlinks=False)
        _link_new(target)
        undo.file(target, lambda: _take_out(target, made))
        return
    try:
        _keep(target, target.before, always, undo)
        _swap_in(target, target.before, always)
    except FileNotFoundError as error:
        raise _stale(target, "was deleted") from error
    undo.file(target, lambda: _put_back(target))


def _swap_in(target: _Target, before: bytes, always: ExitStack) -> None:
    """Move the old file to another name first, and only then check that it is the one the change was made from: so
    nothing that is written at this very moment is lost. Raises ToolError STALE after giving the file its name back, and
    OSError."""
    at, step = target.folder.descriptor, target.step
    if step.after is None:
        always.callback(_unlink, step.temporary, at)
        os.rename(target.name, step.temporary, src_dir_fd=at, dst_dir_fd=at)
    elif not exchange_names(step.temporary, target.name, at):
        _verify(target)
        os.replace(step.temporary, target.name, src_dir_fd=at, dst_dir_fd=at)
        return
    try:
        _check_contents(target, step.temporary, before)
    except (ToolError, OSError):
        if step.after is not None:
            exchange_names(step.temporary, target.name, at)
        else:
            _restore_name(step.temporary, target.name, at)
        raise


def _restore_name(temporary: str, name: str, folder: int) -> None:
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        pass  # the file was created again in the meantime: that one is the latest
    except OSError:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _put_back(target: _Target) -> None:
    at, step = target.folder.descriptor, target.step
    os.replace(step.kept, target.name, src_dir_fd=at, dst_dir_fd=at)


def _link_new(target: _Target) -> None:
    """Give the new file its name. Unlike a rename, a link never replaces what appeared in the meantime."""
    at = target.folder.descriptor
    try:
        os.link(target.step.temporary, target.name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except FileExistsError as error:
        raise _stale(target, "was created") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.replace(target.step.temporary, target.name, src_dir_fd=at, dst_dir_fd=at)


def _take_out(target: _Target, made: os.stat_result) -> None:
    at = target.folder.descriptor
    if os.path.samestat(made, os.stat(target.name, dir_fd=at, follow_symlinks=False)):
        os.unlink(target.name, dir_fd=at)


def _keep(target: _Target, before: bytes, always: ExitStack, undo: _Undo) -> None:
    """Give the old file a second name, so that restoring it needs no disk space."""
    at, name = target.folder.descriptor, target.step.kept
    always.callback(undo.drop, target, name)
    try:
        os.link(target.name, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        descriptor = os.open(name, _CREATE_FLAGS, 0o600, dir_fd=at)
        with open(descriptor, "wb") as file:
            file.write(before)
            file.flush()
            _copy_metadata(descriptor, _status(target))


def _beside(name: str, kind: str) -> str:
    """Return a name for a file beside this one, short enough for any file system."""
    tail = f".{os.getpid()}.{secrets.token_hex(6)}.{kind}"
    head = os.fsencode(name)[: _MAX_NAME_BYTES - len(tail) - 1]
    return f".{head.decode('utf-8', 'ignore')}{tail}"


def _unlink(name: str, folder: int) -> None:
    with suppress(OSError):  # usually it has been renamed to the target
        os.unlink(name, dir_fd=folder)


def _stale(target: _Target, happened: str) -> ToolError:
    return ToolError(
        "STALE",
        f"{_shown(target)} {happened} since the edit was prepared; nothing was written",
        "re-read the file and redo the edit",
        {"path": str(target.step.path)},
    )


def _shown(target: _Target) -> str:
    return target.change.relative if target.step.path == target.change.path else target.change.shown
