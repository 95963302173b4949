"""Puts one file of a change into place, and puts it back if the change fails.

The steps, and what a crash after each leaves at the file's name:

1. `prepare` writes the new contents beside it, with the old file's owner and mode, and they are brought to the disk,
   those of all files together (`syncing.py`): the old file.
2. `verify` compares it with what the change was made from: the old file.
3. `_keep` gives the old file a second name: the old file.
4. `_swap_in` exchanges it with the new contents in one step, or renames it if it is to go: the new file. Where names
   cannot be exchanged, it is compared once more and replaced by a rename.
5. What was displaced is compared. If it is not what the change was made from, since somebody wrote at this very moment,
   it gets its name back. A crash before that leaves it beside the file, where recovery finds and restores it.

A new file is linked to its name, which never replaces what has appeared there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.apply import journal
from north_lsp.workspace.apply.atomic_exchange import exchange_names
from north_lsp.workspace.apply.open_folders import Folder
from north_lsp.workspace.paths import kind_of
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import OPEN_FLAGS

if TYPE_CHECKING:
    from north_lsp.workspace.apply.syncing import Unsynced

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.NOFOLLOW | systems.CLOEXEC
_READ_BITS = 0o444
_SAFE_BITS = 0o777
_MAX_NAME_BYTES = 255
_NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})


@dataclass(frozen=True, slots=True)
class FileStep:
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
class Target:
    """A step with its folder held open."""

    step: FileStep
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


class Restoration:
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
            raise self._complaint("the edit was undone")

    def _complaint(self, before: str) -> ToolError:
        names = list(self.stuck.values())
        message = (
            f"{before}; restoring these files failed as well, they are changed: {', '.join(names)}. Their old "
            "contents are kept, and North tries again when a conversation is opened"
        )
        return ToolError("IO_ERROR", message, "tell the user", {"changed": names})

    def keep(self) -> None:
        """Forget how to restore anything: the changes are final."""
        self.stack.pop_all()

    def file(self, target: Target, put_back: Callable[[], None]) -> None:
        """Register how a file is restored."""

        def attempt() -> None:
            try:
                put_back()
            except OSError:
                self.stuck[target.step.path] = target.change.relative

        self.stack.callback(attempt)

    def drop(self, target: Target, name: str) -> None:
        """Remove the backup beside a file, unless it is still needed."""
        if target.step.path not in self.stuck:
            _unlink(name, target.folder.descriptor)


def prepare(step: FileStep, folder: Folder, unsynced: Unsynced, always: ExitStack, undo: ExitStack) -> Target:
    """Write the new contents, if any, beside the target under a temporary name; `unsynced` brings them to the disk."""
    target = Target(step, folder)
    if step.after is None:
        return target
    if step.before is None:
        descriptor = systems.open_file(step.temporary, _CREATE_FLAGS, 0o666, folder=folder.descriptor)
    else:
        old = _status(target)
        descriptor = systems.open_file(step.temporary, _CREATE_FLAGS, 0o600, folder=folder.descriptor)
    always.callback(_unlink, step.temporary, folder.descriptor)
    undo.callback(_unlink, step.temporary, folder.descriptor)  # before the folders that were created for it are removed
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(step.after)
        if step.before is not None:
            _copy_metadata(descriptor, old)
        if step.mode is not None:
            systems.change_mode(descriptor, step.mode & _SAFE_BITS)
        if step.change.make_executable:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            systems.change_mode(descriptor, mode | (mode & _READ_BITS) >> 2)
    except BaseException:
        os.close(descriptor)
        raise
    unsynced.add(step.change, descriptor)
    return target


def _copy_metadata(descriptor: int, old: os.stat_result) -> None:
    """Copy owner and mode of the old file, as far as the user is allowed to set them."""
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            systems.change_owner(descriptor, old.st_uid, old.st_gid)
    systems.change_mode(descriptor, stat.S_IMODE(old.st_mode))


def _status(target: Target) -> os.stat_result:
    """Return the target's own status, which must be that of a file. Raises ToolError STALE, and OSError."""
    try:
        status = systems.status_in(target.folder.descriptor, target.name)
    except FileNotFoundError as error:
        raise _stale(target, "was deleted") from error
    if not stat.S_ISREG(status.st_mode):
        raise _stale(target, f"has become {kind_of(status.st_mode)}")
    return status


def verify(target: Target) -> None:
    """Check that a target is what its change was made from. Raises ToolError STALE, and OSError."""
    if target.before is not None:
        _status(target)
        _check_contents(target, target.name, target.before)
        return
    try:
        systems.status_in(target.folder.descriptor, target.name)
    except FileNotFoundError:
        return
    raise _stale(target, "was created")


def _check_contents(target: Target, name: str, before: bytes) -> None:
    """Check that the file of this name in the target's folder has the contents that the change was made from. Raises
    ToolError STALE, and OSError."""
    try:
        descriptor = systems.open_file(name, OPEN_FLAGS, folder=target.folder.descriptor)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):
            raise _stale(target, "was replaced") from error
        raise
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or file.read(len(before) + 1) != before:
            raise _stale(target, "has changed")


def put_into_place(target: Target, always: ExitStack, undo: Restoration) -> None:
    """Put the new contents into place, and register how to undo it."""
    at, step = target.folder.descriptor, target.step
    if target.before is None:
        verify(target)
        made = systems.status_in(at, step.temporary)
        _link_new(target)
        undo.file(target, lambda: _take_out(target, made))
        return
    try:
        _keep(target, target.before, always, undo)
        _swap_in(target, target.before, always)
    except FileNotFoundError as error:
        raise _stale(target, "was deleted") from error
    undo.file(target, lambda: _put_back(target))


def _swap_in(target: Target, before: bytes, always: ExitStack) -> None:
    """Move the old file to another name first, and only then check that it is the one the change was made from: so
    nothing that is written at this very moment is lost. Raises ToolError STALE after giving the file its name back, and
    OSError."""
    at, step = target.folder.descriptor, target.step
    if step.after is None:
        always.callback(_unlink, step.temporary, at)
        systems.rename_in(at, target.name, step.temporary)
    elif not exchange_names(step.temporary, target.name, at):
        verify(target)
        systems.rename_in(at, step.temporary, target.name)
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
        systems.link_in(folder, temporary, name)
    except FileExistsError:
        pass  # the file was created again in the meantime: that one is the latest
    except OSError:
        systems.rename_in(folder, temporary, name)


def _put_back(target: Target) -> None:
    at, step = target.folder.descriptor, target.step
    systems.rename_in(at, step.kept, target.name)


def _link_new(target: Target) -> None:
    """Give the new file its name. Unlike a rename, a link never replaces what appeared in the meantime."""
    at = target.folder.descriptor
    try:
        systems.link_in(at, target.step.temporary, target.name)
    except FileExistsError as error:
        raise _stale(target, "was created") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        systems.rename_in(at, target.step.temporary, target.name)


def _take_out(target: Target, made: os.stat_result) -> None:
    at = target.folder.descriptor
    if os.path.samestat(made, systems.status_in(at, target.name)):
        systems.unlink_in(at, target.name)


def _keep(target: Target, before: bytes, always: ExitStack, undo: Restoration) -> None:
    """Give the old file a second name, so that restoring it needs no disk space."""
    at, name = target.folder.descriptor, target.step.kept
    always.callback(undo.drop, target, name)
    try:
        systems.link_in(at, target.name, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        descriptor = systems.open_file(name, _CREATE_FLAGS, 0o600, folder=at)
        with open(descriptor, "wb") as file:
            file.write(before)
            file.flush()
            _copy_metadata(descriptor, _status(target))


def beside(name: str, kind: str) -> str:
    """Return a name for a file beside this one, short enough for any file system."""
    tail = f".{os.getpid()}.{os.urandom(6).hex()}.{kind}"
    head = os.fsencode(name)[: _MAX_NAME_BYTES - len(tail) - 1]
    return f".{head.decode('utf-8', 'ignore')}{tail}"


def _unlink(name: str, folder: int) -> None:
    with suppress(OSError):  # usually it has been renamed to the target
        systems.unlink_in(folder, name)


def _stale(target: Target, happened: str) -> ToolError:
    return ToolError(
        "STALE",
        f"{_shown(target)} {happened} since the edit was prepared; nothing was written",
        "re-read the file and redo the edit",
        {"path": str(target.step.path)},
    )


def _shown(target: Target) -> str:
    return target.change.relative if target.step.path == target.change.path else target.change.shown
