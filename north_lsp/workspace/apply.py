"""Writing accepted changes to the disk: all or none, never half a file, and never through a link."""

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from north_lsp.errors import ToolError
from north_lsp.workspace.folders import Folder, check_in_place, enter
from north_lsp.workspace.paths import Roots, kind_of
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.protected import write_rule_on_disk
from north_lsp.workspace.text import OPEN_FLAGS, encode

_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ_BITS = 0o444
_MAX_NAME_BYTES = 255
_NO_LINKS = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})


@dataclass(frozen=True, slots=True)
class _Target:
    """One file that is to be written: where, what must stand there now (or None), the name of the new contents."""

    change: FileChange
    folder: Folder
    name: str
    before: bytes | None
    temporary: str


def apply(changes: Sequence[FileChange], roots: Roots) -> None:
    """Write all changes. Missing folders of new files are made.

    Raises ToolError, after which the disk is as it was: STALE if a target is not what the change was made from (other
    contents, a link, no folder), OUTSIDE_WORKSPACE or DENIED for a path that no tool may write, INVALID_INPUT for a
    text that its encoding cannot hold, IO_ERROR with the path and the system's words. If putting back fails, too, the
    message names the files that stayed changed.
    """
    contents = [encode(change.new_text, change.form) for change in changes]
    before = [None if change.old_text is None else encode(change.old_text, change.form) for change in changes]
    if len({change.path for change in changes}) != len(changes):
        raise ToolError("INVALID_INPUT", "a file is changed twice in one proposal", "put its changes together")
    with ExitStack() as always, _Undo() as undo:
        targets: list[_Target] = []
        for change, old, new in zip(changes, before, contents, strict=True):
            with _explained(change):
                targets.append(_prepare(change, old, new, roots, always, undo.stack))
        for target in targets:
            with _explained(target.change):
                _verify(target)
        for target in targets:
            with _explained(target.change):
                check_in_place(target.folder)
                _replace(target, always, undo)
        undo.keep()
        for descriptor in {target.folder.descriptor for target in targets}:
            with suppress(OSError):  # not every file system can
                os.fsync(descriptor)


class _Undo:
    """What takes a half-done application back, unless it is kept. Says which files could not be put back."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self._stuck: list[str] = []

    def __enter__(self) -> "_Undo":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.stack.close()
        if self._stuck and error is not None:
            files = ", ".join(self._stuck)
            message = f"{error}; putting these files back failed as well, they are changed: {files}"
            raise ToolError("IO_ERROR", message, "tell the user", {"changed": self._stuck}) from error

    def keep(self) -> None:
        self.stack.pop_all()

    def file(self, change: FileChange, put_back: Callable[[], None]) -> None:
        def attempt() -> None:
            try:
                put_back()
            except OSError:
                self._stuck.append(change.relative)

        self.stack.callback(attempt)


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
            "find out what keeps the file from being written before you try again",
            {"path": str(change.path), "error": reason, "errno": name},
        ) from error


def _prepare(
    change: FileChange, before: bytes | None, new: bytes, roots: Roots, always: ExitStack, undo: ExitStack
) -> _Target:
    """Write the new contents beside the target, under another name."""
    root = roots.root_of(change.path)
    if root is None or change.path == root or ".." in change.path.parts:
        raise ToolError("OUTSIDE_WORKSPACE", f"{change.path} is not in the workspace; nothing was written")
    if write_rule_on_disk(change.path, root) == "never":
        raise ToolError("DENIED", f"{change.relative} is never written by a tool; nothing was written")
    *names, name = change.path.relative_to(root).parts
    folder = enter(root, tuple(names), always, undo if before is None else None)
    temporary = _beside(name, "tmp")
    target = _Target(change, folder, name, before, temporary)
    if before is None:
        descriptor = os.open(temporary, _CREATE_FLAGS, 0o666, dir_fd=folder.descriptor)
    else:
        old = _status(target)
        descriptor = os.open(temporary, _CREATE_FLAGS, 0o600, dir_fd=folder.descriptor)
    always.callback(_unlink, temporary, folder.descriptor)
    undo.callback(_unlink, temporary, folder.descriptor)  # before the folders that were made for it
    with open(descriptor, "wb") as file:
        file.write(new)
        file.flush()
        if before is not None:
            _dress(descriptor, old)
        if change.make_executable:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            os.fchmod(descriptor, mode | (mode & _READ_BITS) >> 2)
        os.fsync(descriptor)
    return target


def _dress(descriptor: int, old: os.stat_result) -> None:
    """Owner and mode of the old file, as far as the user may give them."""
    new = os.fstat(descriptor)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _status(target: _Target) -> os.stat_result:
    """The target's own status, which must be that of a file. Raises ToolError STALE, and OSError."""
    try:
        status = os.stat(target.name, dir_fd=target.folder.descriptor, follow_symlinks=False)
    except FileNotFoundError as error:
        raise _stale(target, "was deleted") from error
    if not stat.S_ISREG(status.st_mode):
        raise _stale(target, f"has become {kind_of(status.st_mode)}")
    return status


def _verify(target: _Target) -> None:
    """Pass a target that is what its change was made from. Raises ToolError STALE, and OSError."""
    if target.before is None:
        try:
            os.stat(target.name, dir_fd=target.folder.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return
        raise _stale(target, "was created")
    _status(target)
    try:
        descriptor = os.open(target.name, OPEN_FLAGS, dir_fd=target.folder.descriptor)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):
            raise _stale(target, "was replaced") from error
        raise
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or file.read(len(target.before) + 1) != target.before:
            raise _stale(target, "has changed")


def _replace(target: _Target, always: ExitStack, undo: _Undo) -> None:
    """Put the new contents into place, and note the way back."""
    at = target.folder.descriptor
    if target.before is None:
        _verify(target)
        made = os.stat(target.temporary, dir_fd=at, follow_symlinks=False)
        _name_new(target)
        undo.file(target.change, lambda: _take_out(target, made))
    else:
        kept = _keep(target, target.before, always)
        _verify(target)
        os.replace(target.temporary, target.name, src_dir_fd=at, dst_dir_fd=at)
        undo.file(target.change, lambda: os.replace(kept, target.name, src_dir_fd=at, dst_dir_fd=at))


def _name_new(target: _Target) -> None:
    """Give the new file its name. A link, unlike a rename, never replaces what appeared in the meantime."""
    at = target.folder.descriptor
    try:
        os.link(target.temporary, target.name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except FileExistsError as error:
        raise _stale(target, "was created") from error
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.replace(target.temporary, target.name, src_dir_fd=at, dst_dir_fd=at)


def _take_out(target: _Target, made: os.stat_result) -> None:
    at = target.folder.descriptor
    if os.path.samestat(made, os.stat(target.name, dir_fd=at, follow_symlinks=False)):
        os.unlink(target.name, dir_fd=at)


def _keep(target: _Target, before: bytes, always: ExitStack) -> str:
    """A second name for the old file, so that putting it back needs no space on the disk."""
    at, name = target.folder.descriptor, _beside(target.name, "old")
    always.callback(_unlink, name, at)
    try:
        os.link(target.name, name, src_dir_fd=at, dst_dir_fd=at, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        descriptor = os.open(name, _CREATE_FLAGS, 0o600, dir_fd=at)
        with open(descriptor, "wb") as file:
            file.write(before)
            file.flush()
            _dress(descriptor, _status(target))
    return name


def _beside(name: str, kind: str) -> str:
    """A name for a neighbour, short enough for any file system."""
    tail = f".{os.getpid()}.{secrets.token_hex(6)}.{kind}"
    head = os.fsencode(name)[: _MAX_NAME_BYTES - len(tail) - 1]
    return f".{head.decode('utf-8', 'ignore')}{tail}"


def _unlink(name: str, folder: int) -> None:
    with suppress(OSError):  # usually it has become the target
        os.unlink(name, dir_fd=folder)


def _stale(target: _Target, happened: str) -> ToolError:
    return ToolError(
        "STALE",
        f"{target.change.relative} {happened} since the edit was prepared; nothing was written",
        "read the place again and prepare the edit anew",
        {"path": str(target.change.path)},
    )
