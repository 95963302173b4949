"""Takes changes back in memory: what later changes allow is merged; the rest is reported and left."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import Literal, assert_never

from north_lsp.agent.log.checkpoints import FileRecord
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.apply.empty_folders import some_of
from north_lsp.workspace.apply.journal import digest
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change
from north_lsp.workspace.edit.merge import merge
from north_lsp.workspace.proposal import FileChange, TextEncoding
from north_lsp.workspace.text import decode, encode, is_binary

Conflicts = Literal["skip", "overwrite", "merge"]
"""What to do with a file whose later changes are in the way: leave it, lose them, or write both between conflict
markers."""

Outcome = Literal["restored", "merged", "unchanged", "conflict", "overwritten", "marked", "irrecoverable"]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome for one file, with the reason unless it is simply restored."""

    relative: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds; no `text`: it is not there."""

    text: str | None = None
    encoding: TextEncoding = field(default_factory=TextEncoding)
    binary: bool = False

    def is_at(self, wanted: str | None) -> bool:
        """Tell whether this is what has a digest; None is that of no file."""
        if self.text is None or wanted is None:
            return self.text is None and wanted is None
        return digest(encode(self.text, self.encoding)) == wanted


@dataclass(frozen=True, slots=True)
class PresentFile:
    """What is at a path now: a file with its contents, or a folder. `disk_tag` is the tag of what is on the disk, also
    where the contents are those that the editor has."""

    relative: str
    contents: Contents = field(default_factory=Contents)
    mode: int | None = None
    disk_tag: str | None = None
    is_folder: bool = False


class FileState:
    """A file while changes are undone in memory: what is there `now`, and what will be. `mode` is that of a file that
    is created again, and `is_folder` whether there will be a folder."""

    def __init__(self, now: PresentFile) -> None:
        self.now = now
        self.contents = now.contents
        self.mode: int | None = None
        self.is_folder = now.is_folder
        self.blocked = False
        self.outcome: FileOutcome | None = None
        self.undoes: list[str] = []

    @property
    def text(self) -> str | None:
        return self.contents.text

    def write(self, text: str | None) -> None:
        """Have the file hold another text, in the encoding that it has; None: it is removed."""
        self.contents = replace(self.contents, text=text)

    def set(self, data: bytes | None, mode: int | None = None) -> None:
        """Have the file hold these bytes; None: it is removed."""
        if data is None:
            self.write(None)
        else:
            self.contents = Contents(*decode(data), self.contents.binary or is_binary(data))
            self.mode = mode

    def set_mode(self, file: FileRecord) -> None:
        """Undo a change's effect on the mode, unless the user has changed the mode since."""
        if file.after_mode is not None and self.now.mode == file.after_mode:
            self.mode = file.before_mode
        elif self.now.contents.text is not None:
            self.mode = None

    def ends(self, outcome: Outcome, detail: str = "") -> None:
        """Note what becomes of the file."""
        self.outcome = FileOutcome(self.now.relative, outcome, detail)

    def done(self, id: str, outcome: Outcome, detail: str = "") -> None:
        """Note that a checkpoint was undone here, and how."""
        self.undoes.append(id)
        if self.outcome is None or self.outcome.outcome in ("restored", "unchanged"):
            self.ends(outcome, detail)

    def leave(self, outcome: Outcome, detail: str) -> None:
        """Leave the file as it is, whatever else is undone."""
        self.blocked = True
        self.ends(outcome, detail)


class TakingBack:
    """Some changes that are undone together, the newest first. `states` are the files that they are about, read before;
    `content` returns what a file held, by its digest."""

    def __init__(self, content: Callable[[str | None], bytes | None], conflicts: Conflicts) -> None:
        self.states: dict[Path, FileState] = {}
        self._content = content
        self._conflicts = conflicts

    @property
    def outcomes(self) -> tuple[FileOutcome, ...]:
        """What became of each file, once `changes` is known."""
        return tuple(state.outcome for state in self.states.values() if state.outcome is not None)

    def changes(self) -> tuple[FileChange, ...]:
        """Return what is to be written. Reads folders."""
        _keep_full_folders(self.states)
        return _changes(self.states)

    def take_back(self, id: str, file: FileRecord) -> None:
        """Undo a checkpoint's change of one file. Reads files."""
        here, there = self.states[file.path], self.states[file.target]
        if here.blocked or there.blocked:
            return
        if file.folder:
            self._take_back_folder(id, file, here, there)
            return
        if here.is_folder or there.is_folder:
            here.leave("conflict", "there is a folder at this path now")
            return
        if file.irrecoverable or (file.before is not None and self._content(file.before) is None):
            here.leave("irrecoverable", "its contents before the change were not kept")
            return
        if file.new_path is not None:
            self._take_back_rename(id, file, here, there)
        else:
            self._take_back_text(id, file, here)

    def _take_back_rename(self, id: str, file: FileRecord, here: FileState, there: FileState) -> None:
        if there.text is None and here.contents.is_at(file.before):
            here.ends("unchanged", "no change was needed")
            return
        if here.text is not None and self._conflicts != "overwrite":
            here.leave("conflict", f"there is another file at {here.now.relative} now")
            return
        if there.text is None and self._conflicts != "overwrite":
            there.leave("conflict", f"{there.now.relative} was deleted or moved since")
            return
        here.contents = there.contents
        here.mode = there.now.mode if there.now.mode is not None else file.before_mode
        self._take_back_text(id, file, here)
        if here.blocked:
            here.write(here.now.contents.text)
            there.blocked = True
        else:
            there.write(None)
            there.undoes.append(id)
            there.ends("restored", f"moved back to {here.now.relative}")

    def _take_back_folder(self, id: str, file: FileRecord, here: FileState, there: FileState) -> None:
        """Undo a change of a folder. Whether a folder that should go is empty is checked later, when everything else is
        known."""
        if here.text is not None or there.text is not None:
            here.leave("conflict", "there is a file at this path now")
            return
        back = file.action != "create"
        is_moved = file.new_path is not None
        if here.is_folder == back and not (is_moved and there.is_folder):
            here.undoes.append(id)
            if here.outcome is None:
                here.ends("unchanged", "no change was needed")
            return
        here.is_folder = back
        here.mode = (there.now.mode if is_moved and there.now.is_folder else None) or file.before_mode
        here.done(id, "restored")
        if is_moved and there.is_folder:
            there.is_folder = False
            there.undoes.append(id)
            there.ends("restored", f"moved back to {here.now.relative}")

    def _take_back_text(self, id: str, file: FileRecord, state: FileState) -> None:
        if state.contents.is_at(file.after):
            before = self._content(file.before)
            state.set(before, file.before_mode if file.new_path is None else state.mode)
            state.set_mode(file)
            state.done(id, "restored")
        elif state.contents.is_at(file.before):
            state.undoes.append(id)
            if state.outcome is None:
                state.ends("unchanged", "no change was needed")
        else:
            self._take_back_around(id, file, state)

    def _take_back_around(self, id: str, file: FileRecord, state: FileState) -> None:
        """Undo a change of a text that has changed since."""
        before, after = self._content(file.before), self._content(file.after)
        if state.text is None or before is None or after is None or any(map(is_binary, (before, after))):
            what = "it was deleted since" if state.text is None else "it was changed since"
            self._resolve(id, state, before, file.before_mode, None, what)
        else:
            base, theirs = decode(after)[0], decode(before)[0]
            merged = merge(base, state.text, theirs, ("now", "before the change"))
            if not merged.conflicts:
                state.write(merged.text)
                state.done(id, "merged", "later changes were kept")
                return
            first = merged.conflicts[0]
            what = f"it was changed since, at line {first.start}"
            self._resolve(id, state, before, file.before_mode, merged.marked, what)

    def _resolve(
        self,
        id: str,
        state: FileState,
        before: bytes | None,
        mode: int | None,
        marked: str | None,
        what: str,
    ) -> None:
        match self._conflicts:
            case "skip":
                state.leave("conflict", f"{what}; restoring would discard that")
            case "overwrite":
                state.set(before, mode)
                state.done(id, "overwritten", what)
            case "merge" if marked is not None:
                state.write(marked)
                state.done(id, "marked", f"{what}; both versions are between conflict markers")
            case "merge":
                state.leave("conflict", f"{what}, and there is nothing to merge")
            case _:
                assert_never(self._conflicts)


def _keep_full_folders(states: dict[Path, FileState]) -> None:
    """Keep a folder that holds more than what the undo removes from it; that loses nothing, so it is no reason against
    restoring the rest."""
    gone = {path for path, one in states.items() if one.text is None and not one.is_folder}
    inner_first = sorted(states.items(), key=lambda row: -len(row[0].parts))
    for path, state in inner_first:
        if not state.now.is_folder or state.is_folder:
            continue
        try:
            left = sorted(name for name in os.listdir(path) if path / name not in gone)
        except OSError as error:
            left = [error.strerror or str(error)]
        if left:
            gone.discard(path)
            state.is_folder = True
            state.ends("unchanged", f"it is no longer empty: {some_of(left)}")


def _changes(states: dict[Path, FileState]) -> tuple[FileChange, ...]:
    changes: list[FileChange] = []
    for path, state in states.items():
        change: FileChange
        undoes = tuple(dict.fromkeys(state.undoes))
        now, first, then = state.now, state.now.contents, state.contents
        if now.is_folder != state.is_folder:
            action: Literal["create", "update", "delete"] = "create" if state.is_folder else "delete"
            folder = make_folder_change(path, now.relative, action, state.mode if state.is_folder else None)
            changes.append(replace(folder, undoes=undoes))
            continue
        if then.text is None:
            if first.text is None:
                continue
            change = make_deletion(path, now.relative, first.text, first.encoding, binary=then.binary)
        elif then.text == first.text and then.encoding == first.encoding and state.mode in (None, now.mode):
            continue
        elif then.binary:
            action = "create" if first.text is None else "update"
            change = FileChange(path, now.relative, action, first.text, then.text, then.encoding, (), 0, 0, binary=True)
        else:
            change = make_change(path, now.relative, first.text, then.text, then.encoding)
        old_encoding = first.encoding if first.text is not None and first.encoding != change.text_encoding else None
        mode = state.mode if state.mode != now.mode else None
        changes.append(replace(change, old_encoding=old_encoding, mode=mode, undoes=undoes, disk_tag=now.disk_tag))
    return tuple(changes)
