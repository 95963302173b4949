"""Keeps an application of several files all or nothing even if the process is killed: a record of what is about to be
done, written before anything else, from which the next process takes a half-done application back.

The steps, and what a crash after each leaves:

1. The plan is written to `<id>.tmp`, locked and synchronized: nothing was done, and `recover` removes it.
2. It is renamed to `<id>.json`, and the files are changed (`apply.py`): `recover` takes them back.
3. `keep` renames it to `<id>.done`: `recover` only clears up.
4. `end` removes it: nothing is left.

The process that works on a journal holds its lock, so that others leave it alone. `recover` puts back what was changed,
the last file first, but never over what somebody has written since; then it removes the names beside the files and the
folders that were made, and the journal last. A crash during that has it done again from the start: what is done already
is found as it should be.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import private_directory, sync_directory
from north_lsp.workspace.apply.open_folders import enter, remove_empty
from north_lsp.workspace.text import OPEN_FLAGS

_OPEN, _DONE = ".json", ".done"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Step:
    """One file: where it is, the digests of what was and what will be there (None: nothing), and the names beside it of
    the new contents and of the old file."""

    root: str
    folders: tuple[str, ...]
    name: str
    before: str | None
    after: str | None
    temporary: str
    kept: str

    @property
    def shown(self) -> str:
        return "/".join((*self.folders, self.name))


@dataclass(frozen=True, slots=True)
class EditorStep:
    """One text that the editor is going to change."""

    path: str
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that an application does; `made` are the folders, each with its root, that did not exist before,
    `gone` those that are removed once the application is kept."""

    steps: tuple[Step, ...]
    made: tuple[tuple[str, tuple[str, ...]], ...] = ()
    editor: tuple[EditorStep, ...] = ()
    gone: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of an interrupted application. `reverse` are the editor's texts that are not as they were before,
    whatever the editor made of them; `changed` are files that were changed since and left as they are."""

    files: tuple[str, ...]
    taken_back: bool
    changed: tuple[str, ...] = ()
    reverse: tuple[EditorStep, ...] = ()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Journal:
    """An open journal of this process."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def begin(cls, folder: Path, plan: Plan) -> Journal:
        """Write the plan to the disk, durably. Raises OSError."""
        private_directory(folder)
        path = folder / f"{os.getpid()}-{os.urandom(6).hex()}{_OPEN}"
        hidden = path.with_suffix(".tmp")
        descriptor = systems.open_file(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | systems.CLOEXEC, 0o600)
        try:
            # Locked before it gets its name: no other process may find it and think that its writer is dead.
            systems.lock(descriptor)
            data = json.dumps({"version": _VERSION, **asdict(plan)}).encode()
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
            os.rename(hidden, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(hidden)
            os.close(descriptor)
            raise
        sync_directory(folder)
        return cls(path, descriptor)

    def keep(self) -> None:
        """Mark the changes as final: from here on they stay, even after a crash. Raises OSError."""
        done = self._path.with_suffix(_DONE)
        os.rename(self._path, done)
        self._path = done
        sync_directory(done.parent)

    def end(self) -> None:
        """Remove the journal: nothing is left to be done."""
        with suppress(OSError):
            os.unlink(self._path)
        self.leave()

    def leave(self) -> None:
        """Release the journal, leaving what remains to be done to the next process."""
        os.close(self._descriptor)


def unfinished(folder: Path) -> list[Path]:
    """Return the journals in a folder, the newest first, since later ones were written on top of earlier ones."""
    try:
        found = [path for path in folder.iterdir() if path.suffix in (_OPEN, _DONE, ".tmp")]
    except OSError:
        return []
    return sorted(found, key=_age)


def _age(path: Path) -> float:
    with suppress(OSError):
        return -path.stat().st_mtime_ns
    return 0


def recover(path: Path, texts: Mapping[str, str | None]) -> Recovered | None:
    """Finish what a dead process left behind. `texts` has the present texts of the plan's editor steps.

    Returns None if its process is still alive, or if it is already finished. Raises OSError, after which it can be
    tried again.
    """
    try:
        descriptor = systems.open_file(path, os.O_RDWR | systems.CLOEXEC | systems.NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        systems.lock(descriptor)
        if not os.path.samestat(os.stat(path), os.fstat(descriptor)):
            return None
        plan = _read(descriptor)
        if path.suffix == ".tmp" or plan is None:  # the process died before it wrote anything else
            os.unlink(path)
            return None
        done = path.suffix == _DONE or (bool(plan.editor) and _all_written(plan, texts))
        changed = [] if done else [step.shown for step in reversed(plan.steps) if not _take_back(step)]
        for step in plan.steps:
            _clean(step)
        remove_folders(plan.gone if done else plan.made)
        reverse = () if done else tuple(one for one in plan.editor if not _is_before(one, texts.get(one.path)))
        os.unlink(path)
        files = (*(step.shown for step in plan.steps), *(step.path for step in plan.editor))
        files += tuple("/".join(folders) for _, folders in (*plan.gone, *(() if plan.steps else plan.made)))
        return Recovered(files, not done, tuple(changed), reverse)
    except (BlockingIOError, FileNotFoundError):
        return None
    finally:
        os.close(descriptor)


def editor_steps(path: Path) -> tuple[EditorStep, ...]:
    """Return the texts that the editor was going to change according to a journal."""
    try:
        descriptor = systems.open_file(path, os.O_RDONLY | systems.CLOEXEC | systems.NOFOLLOW)
    except OSError:
        return ()
    try:
        plan = _read(descriptor)
    finally:
        os.close(descriptor)
    return plan.editor if plan is not None else ()


def _read(descriptor: int) -> Plan | None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb", closefd=False) as file:
        data = file.read()
    try:
        value = json.loads(data)
        steps = tuple(Step(**{**row, "folders": tuple(row["folders"])}) for row in value["steps"])
        made, gone = (tuple((root, tuple(folders)) for root, folders in value.get(key, ())) for key in ("made", "gone"))
        return Plan(steps, made, tuple(EditorStep(**row) for row in value["editor"]), gone)
    except (ValueError, TypeError, KeyError):
        return None


def _is_at(text: str | None, wanted: str) -> bool:
    return text is not None and text.replace("\r\n", "\n") == wanted.replace("\r\n", "\n")


def _is_before(step: EditorStep, text: str | None) -> bool:
    return text is None if step.before is None else _is_at(text, step.before)


def _all_written(plan: Plan, texts: Mapping[str, str | None]) -> bool:
    return all(_is_at(texts.get(step.path), step.after) for step in plan.editor) and all(map(_is_written, plan.steps))


def _is_written(step: Step) -> bool:
    with ExitStack() as always:
        folder = _folder(step, always)
        return folder is not None and _digest_at(step.name, folder) == step.after


def _folder(step: Step, always: ExitStack) -> int | None:
    """Return the descriptor of the step's folder; None if it is gone or can no longer be trusted."""
    try:
        return enter(Path(step.root), step.folders, always, None).descriptor
    except (ToolError, OSError):
        return None


def _take_back(step: Step) -> bool:
    """Restore the old file if the new one is in its place; return False if something else is."""
    with ExitStack() as always:
        folder = _folder(step, always)
        if folder is None:
            return step.before is None
        here, kept = _status(step.name, folder), _status(step.kept, folder)
        if step.before is None:
            if here is None:
                return True
            temporary = _status(step.temporary, folder)
            ours = temporary is not None and os.path.samestat(here, temporary)
            if not ours and _digest_at(step.name, folder) != step.after:
                return False
            systems.unlink_in(folder, step.name)
            return True
        if here is not None and kept is not None and os.path.samestat(here, kept):
            return True
        stands = _digest_at(step.name, folder)
        if stands == step.before:
            return True
        displaced = _digest_at(step.temporary, folder)
        if stands == step.after and displaced not in (None, "", step.before, step.after):
            systems.rename_in(folder, step.temporary, step.name)
            return False  # another program wrote when the file was displaced: what it wrote is back in place
        if kept is None or stands != step.after or _digest_at(step.kept, folder) != step.before:
            return False
        systems.rename_in(folder, step.kept, step.name)
        return True


def _clean(step: Step) -> None:
    with ExitStack() as always:
        folder = _folder(step, always)
        for name in (step.temporary, step.kept):
            if folder is not None:
                with suppress(FileNotFoundError):
                    systems.unlink_in(folder, name)


def remove_folders(listed: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    """Remove the folders that are empty, the inner ones first."""
    for root, folders in sorted(listed, key=lambda row: -len(row[1])):
        remove_empty(Path(root), folders)


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return systems.status_in(folder, name)
    except FileNotFoundError:
        return None


def _digest_at(name: str, folder: int) -> str | None:
    """Return the digest of the file with this name: None if there is nothing, "" if it is not a file."""
    try:
        descriptor = systems.open_file(name, OPEN_FLAGS, folder=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            return ""
        raise
    with open(descriptor, "rb") as file:
        try:
            return hashlib.file_digest(file, "sha256").hexdigest()
        except IsADirectoryError:
            return ""
