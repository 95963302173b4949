"""What an agent changed in its work tree, as changes of the user's files as they are now: merged three ways with what
was changed there meanwhile. Where both changed the same, the user's text stays, and it is said."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.subagents.ownership import is_owned
from north_lsp.agent.subagents.work_tree import Base, WorkTree, leads_straight
from north_lsp.display import one_line
from north_lsp.errors import ToolError, UnsavedUnknown
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.support.texts import text_of
from north_lsp.workspace.edit.diff import make_change, make_deletion
from north_lsp.workspace.edit.merge import Conflict, merge
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.opening import open_regular
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import MAX_WHOLE_FILE, Text, decode, is_binary
from north_lsp.workspace.workspace import Workspace

_EXECUTABLE = 0o111
_SHOWN = 2_000
_MOST = 10_000_000  # characters, before and after: less than a review takes
_MOST_READ = 64 << 20
_REPOSITORY = "it is a repository of its own"


@dataclass(frozen=True, slots=True)
class Brought:
    """The changes, and, a line each for the model, where the user's text stays (`conflicts`) and what cannot be
    proposed (`left_out`); `lost` are the changes of these that nothing else has. Where they are not text, the tree
    stays."""

    changes: tuple[FileChange, ...]
    conflicts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    lost: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True)
class _Row:
    """A file that the agent changed: its bytes before and after, None where it was or is not there; `executable` if
    that changed. Of one that `is_unknown` the bytes before cannot be read any more."""

    relative: str
    base: bytes | None
    now: bytes | None
    executable: bool | None = None
    is_unknown: bool = False


class _Conflict(Exception):
    """The user's text stays; the text says why."""


async def changes_of(tree: WorkTree, workspace: Workspace, owns: Sequence[str] | None = None) -> Brought:
    """Find what the agent changed, against the present texts of the user; only of the files that it `owns`, if that is
    said. Raises ToolError if git cannot tell."""
    left_out = [f"{one} (it was not in the work tree)" for one in tree.skipped]
    rows = await anyio.to_thread.run_sync(_changed, tree, left_out)
    changes: list[FileChange] = []
    lost: list[FileChange] = []
    size = 0
    conflicts: list[str] = []
    for row in rows:
        if owns is not None and not is_owned(owns, row.relative):
            left_out.append(f"{row.relative}: it is not among what the package owns{_kept(row, tree, lost)}")
            continue
        try:
            if row.is_unknown:
                raise _Conflict("its earlier contents cannot be read any more; yours are kept")
            path, relative = await anyio.to_thread.run_sync(_place, row, tree, workspace)
            change, clashes = await _against_present(row, path, relative, workspace)
        except _Conflict as conflict:
            conflicts.append(f"{row.relative}: {conflict}{_kept(row, tree, lost)}")
            continue
        except (ToolError, UnsavedUnknown) as error:
            left_out.append(f"{row.relative}: {error}{_kept(row, tree, lost)}")
            continue
        conflicts += [f"{relative}: {_in_words(one)}" for one in clashes]
        if change is None or change.is_empty:
            continue
        why = await anyio.to_thread.run_sync(refusal, [change], workspace.roots, workspace.private)
        if why is not None:
            left_out.append(f"{why}{_kept(row, tree, lost)}")
            continue
        change = replace(change, notices=(*map(_shortly, clashes), *_of_mode(change)))
        characters = len(change.old_text or "") + len(change.new_text)
        if size + characters > _MOST:
            left_out.append(f"{relative}: with it the edit would be too large to review{_kept(row, tree, lost)}")
            continue
        size += characters
        changes.append(change)
    return Brought(tuple(changes), tuple(conflicts), tuple(left_out), tuple(lost))


def _kept(row: _Row, tree: WorkTree, lost: list[FileChange]) -> str:
    """Keep what the agent made of a file that is not proposed: text among what is `lost`, anything else in the tree.
    Return what is said of it."""
    if row.now is None:
        return ""
    if is_binary(row.now) or (row.base is not None and is_binary(row.base)):
        return _stays(tree, row.relative)
    text, form = decode(row.now)
    before = decode(row.base)[0] if row.base is not None else None
    lost.append(make_change(tree.source / row.relative, row.relative, before, text, form))
    return ""


def _stays(tree: WorkTree, relative: str) -> str:
    """Have the tree stay, since only there is what the agent made. Return what is said of it."""
    tree.keep()
    return f" (the agent's is in the work tree, {tree.root / relative})"


def _changed(tree: WorkTree, left_out: list[str]) -> list[_Row]:
    found: list[_Row] = []
    straight: dict[Path, bool] = {}
    read = 0
    left_out += [f"{name}: {_REPOSITORY}{_stays(tree, name)}" for name in tree.repositories()]
    for relative in tree.listed():
        known, path = tree.files.get(relative), tree.root / relative
        if not leads_straight(tree.root, relative, straight):
            if known is not None:
                left_out.append(f"{relative}: its path goes through a symbolic link")
            continue
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            if known is not None:
                base = tree.base(relative)
                found.append(_Row(relative, base, None, is_unknown=base is None))
            continue
        except OSError as error:
            left_out.append(f"{relative}: {error.strerror}{_stays(tree, relative)}")
            continue
        if stat.S_ISDIR(status.st_mode):
            if known is None and not _is_empty(path):  # a submodule: git does not say what is in it either
                left_out.append(f"{relative}: {_REPOSITORY}{_stays(tree, relative)}")
            continue
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(path)
            if known is None or known.digest != hashlib.sha256(os.fsencode(target)).hexdigest():
                left_out.append(
                    f"{relative}: symbolic links are not included (it points to {one_line(target, _SHOWN)})"
                )
            continue
        try:
            now, same = _read(path, known)
        except ToolError as error:
            left_out.append(f"{relative}: {error}{_stays(tree, relative)}")
            continue
        executable = bool(status.st_mode & _EXECUTABLE)
        if known is not None and same and known.executable == executable:
            continue
        if now is None:
            kept = "" if same else _stays(tree, relative)
            left_out.append(f"{relative}: it is too large to review ({status.st_size:,} bytes){kept}")
            continue
        read += len(now)
        if read > _MOST_READ:
            tree.keep()
            left_out.append(f"{relative}: the agent changed too much; its text is in the work tree, {tree.root}")
        elif known is None:
            found.append(_Row(relative, None, now, executable or None))
        else:
            other = executable if known.executable != executable else None
            base = tree.base(relative)
            found.append(_Row(relative, base, now, other, is_unknown=base is None))
    return found


def _is_empty(folder: Path) -> bool:
    with suppress(OSError):
        return not any(folder.iterdir())
    return False  # nobody knows


def _read(path: Path, known: Base | None) -> tuple[bytes | None, bool]:
    """Read a file of the tree: what it holds, None if that is too large to review, and whether it held the same before.
    Raises ToolError."""
    descriptor, status = open_regular(path)
    with open(descriptor, "rb") as file:
        if status.st_size <= MAX_WHOLE_FILE:
            now = file.read(MAX_WHOLE_FILE + 1)
            return now, known is not None and known.digest == hashlib.sha256(now).hexdigest()
        if known is None or known.size != status.st_size:
            return None, False
        return None, known.digest == hashlib.file_digest(file, "sha256").hexdigest()


def _place(row: _Row, tree: WorkTree, workspace: Workspace) -> tuple[Path, str]:
    """Return where a file of the tree is for the user. Raises ToolError."""
    path = tree.source / row.relative
    resolved = workspace.trees.resolve(str(path))
    if resolved.path != path:
        raise ToolError("OUTSIDE_WORKSPACE", "its path goes through a symbolic link")
    return path, resolved.relative


async def _against_present(
    row: _Row, path: Path, relative: str, workspace: Workspace
) -> tuple[FileChange | None, Sequence[Conflict]]:
    if any(data is not None and is_binary(data) for data in (row.base, row.now)):
        return await anyio.to_thread.run_sync(_whole, row, path, relative), ()
    present = await _present(path, workspace)
    base = None if row.base is None else decode(row.base)[0]
    if row.now is None:
        return _deletion(base, present, path, relative), ()
    now, form = decode(row.now)
    if present is None:
        if base is not None:
            raise _Conflict("the agent changed it, but you deleted it meanwhile; it stays deleted")
        change = make_change(path, relative, None, now, form)
        return replace(change, make_executable=bool(row.executable)), ()
    mode = await anyio.to_thread.run_sync(_mode, path, row.executable)
    if present.text == now:
        return (None if mode is None else _update(path, relative, present, now, mode)), ()
    if base is None:
        raise _Conflict("the agent created it, but it exists with a different text now; yours is kept")
    merged = await anyio.to_thread.run_sync(merge, base, present.text, now)
    return _update(path, relative, present, merged.text, mode), merged.conflicts


async def _present(path: Path, workspace: Workspace) -> Text | None:
    try:
        return (await text_of(path, workspace))[0]
    except ToolError as error:
        if error.code != "NOT_FOUND":
            raise
        return None


def _update(path: Path, relative: str, present: Text, new: str, mode: int | None) -> FileChange:
    change = make_change(path, relative, present.text, new, present.form)
    return replace(change, disk_tag=present.on_disk, mode=mode)


def _deletion(base: str | None, present: Text | None, path: Path, relative: str) -> FileChange | None:
    if present is None:
        return None
    if present.text != base:
        raise _Conflict("the agent deleted it, but you changed it meanwhile; it is kept")
    return replace(make_deletion(path, relative, present.text, present.form), disk_tag=present.on_disk)


def _whole(row: _Row, path: Path, relative: str) -> FileChange | None:
    """Return the change of a file that is not text: taken as a whole, or not at all."""
    present: bytes | None = None
    with suppress(FileNotFoundError):
        present = path.read_bytes()
    if present == row.now:
        return None
    if present != row.base:
        raise _Conflict("both you and the agent changed this binary file; yours is kept")
    old = None if present is None else decode(present)
    if row.now is None:
        return None if old is None else make_deletion(path, relative, old[0], old[1], binary=True)
    new, form = decode(row.now)
    change = make_change(path, relative, None if old is None else old[0], new, form)
    before = old[1] if old is not None and old[1] != form else None
    bare = replace(change, hunks=(), lines_added=0, lines_removed=0, binary=True, old_encoding=before)
    return replace(bare, make_executable=bool(row.executable) and old is None)


def _mode(path: Path, executable: bool | None) -> int | None:
    """Return the mode that a file gets; None if that stays as it is."""
    if executable is None:
        return None
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return None
    wanted = mode | (mode & 0o444) >> 2 if executable else mode & ~_EXECUTABLE
    return None if wanted == mode else wanted


def _of_mode(change: FileChange) -> tuple[str, ...]:
    """Return what the user is told where a file becomes executable, or is no longer."""
    if change.make_executable or (change.mode is not None and change.mode & _EXECUTABLE):
        return (f"{change.relative} becomes executable",)
    return (f"{change.relative} is no longer executable",) if change.mode is not None else ()


def _lines(one: Conflict) -> str:
    return f"line {one.start}" if one.end <= one.start else f"lines {one.start}-{one.end}"


def _shortly(one: Conflict) -> str:
    theirs = one_line(" ".join(one.theirs), 200) or "removed"
    return f"{_lines(one)}: you and the agent changed the same lines; yours are kept, the agent's was: {theirs}"


def _in_words(one: Conflict) -> str:
    theirs = "".join(one.theirs)[:_SHOWN] or "(removed)\n"
    return f"{_lines(one)}: changed by the user and the agent; the user's version is kept, the agent's was:\n{theirs}"
