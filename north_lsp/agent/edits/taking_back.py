"""Takes changes back in memory: what later changes allow is merged; the rest is reported and left."""

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


@dataclass
class FileState:
    """A file while changes are undone in memory; `first` is its content now, `mode` the mode for a file that is created
    again. `stood` and `stands` are the same for a folder: whether it exists now, and whether it will."""

    relative: str
    first: str | None
    first_form: TextEncoding
    text: str | None
    text_encoding: TextEncoding
    binary: bool = False
    mode: int | None = None
    first_mode: int | None = None
    stood: bool = False
    stands: bool = False
    disk_tag: str | None = None
    blocked: bool = False
    outcome: FileOutcome | None = None
    undoes: list[str] = field(default_factory=list)

    def set(self, data: bytes | None, mode: int | None = None) -> None:
        if data is None:
            self.text = None
        else:
            self.text, self.text_encoding = decode(data)
            self.binary = self.binary or is_binary(data)
            self.mode = mode

    def set_mode(self, file: FileRecord) -> None:
        """Undo a change's effect on the mode, unless the user has changed the mode since."""
        if file.after_mode is not None and self.first_mode == file.after_mode:
            self.mode = file.before_mode
        elif self.first is not None:
            self.mode = None

    def is_at(self, wanted: str | None) -> bool:
        if self.text is None or wanted is None:
            return self.text is None and wanted is None
        return digest(encode(self.text, self.text_encoding)) == wanted

    def done(self, id: str, outcome: Outcome, detail: str = "") -> None:
        """Note that a checkpoint was undone here, and how."""
        self.undoes.append(id)
        if self.outcome is None or self.outcome.outcome in ("restored", "unchanged"):
            self.outcome = FileOutcome(self.relative, outcome, detail)

    def leave(self, outcome: Outcome, detail: str) -> None:
        """Leave the file as it is, whatever else is undone."""
        self.blocked = True
        self.outcome = FileOutcome(self.relative, outcome, detail)


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
        if here.stands or there.stands:
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
        if there.text is None and here.is_at(file.before):
            here.outcome = FileOutcome(here.relative, "unchanged", "no change was needed")
            return
        if here.text is not None and self._conflicts != "overwrite":
            here.leave("conflict", f"there is another file at {here.relative} now")
            return
        if there.text is None and self._conflicts != "overwrite":
            there.leave("conflict", f"{there.relative} was deleted or moved since")
            return
        here.text, here.text_encoding, here.binary = there.text, there.text_encoding, there.binary
        here.mode = there.first_mode if there.first_mode is not None else file.before_mode
        self._take_back_text(id, file, here)
        if here.blocked:
            here.text = here.first
            there.blocked = True
        else:
            there.text = None
            there.undoes.append(id)
            there.outcome = FileOutcome(there.relative, "restored", f"moved back to {here.relative}")

    def _take_back_folder(self, id: str, file: FileRecord, here: FileState, there: FileState) -> None:
        """Undo a change of a folder. Whether a folder that should go is empty is checked later, when everything else is
        known."""
        if here.text is not None or there.text is not None:
            here.leave("conflict", "there is a file at this path now")
            return
        back = file.action != "create"
        is_moved = file.new_path is not None
        if here.stands == back and not (is_moved and there.stands):
            here.undoes.append(id)
            here.outcome = here.outcome or FileOutcome(here.relative, "unchanged", "no change was needed")
            return
        here.stands = back
        here.mode = (there.first_mode if is_moved and there.stood else None) or file.before_mode
        here.done(id, "restored")
        if is_moved and there.stands:
            there.stands = False
            there.undoes.append(id)
            there.outcome = FileOutcome(there.relative, "restored", f"moved back to {here.relative}")

    def _take_back_text(self, id: str, file: FileRecord, state: FileState) -> None:
        before, after = self._content(file.before), self._content(file.after)
        if state.is_at(file.after):
            state.set(before, file.before_mode if file.new_path is None else state.mode)
            state.set_mode(file)
            state.done(id, "restored")
        elif state.is_at(file.before):
            state.undoes.append(id)
            if state.outcome is None:
                state.outcome = FileOutcome(state.relative, "unchanged", "no change was needed")
        elif state.text is None or before is None or after is None or any(map(is_binary, (before, after))):
            what = "it was deleted since" if state.text is None else "it was changed since"
            self._resolve(id, state, before, file.before_mode, None, what)
        else:
            base, theirs = decode(after)[0], decode(before)[0]
            merged = merge(base, state.text, theirs, ("now", "before the change"))
            if not merged.conflicts:
                state.text = merged.text
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
                state.text = marked
                state.done(id, "marked", f"{what}; both versions are between conflict markers")
            case "merge":
                state.leave("conflict", f"{what}, and there is nothing to merge")
            case _:
                assert_never(self._conflicts)


def _keep_full_folders(states: dict[Path, FileState]) -> None:
    """Keep a folder that holds more than what the undo removes from it; that loses nothing, so it is no reason against
    restoring the rest."""
    gone = {path for path, one in states.items() if one.text is None and not one.stands}
    inner_first = sorted(states.items(), key=lambda row: -len(row[0].parts))
    for path, state in inner_first:
        if not state.stood or state.stands:
            continue
        try:
            left = sorted(name for name in os.listdir(path) if path / name not in gone)
        except OSError as error:
            left = [error.strerror or str(error)]
        if left:
            gone.discard(path)
            state.stands = True
            state.outcome = FileOutcome(state.relative, "unchanged", f"it is no longer empty: {some_of(left)}")


def _changes(states: dict[Path, FileState]) -> tuple[FileChange, ...]:
    changes: list[FileChange] = []
    for path, state in states.items():
        change: FileChange
        if state.stood != state.stands:
            action: Literal["create", "update", "delete"] = "create" if state.stands else "delete"
            folder = make_folder_change(path, state.relative, action, state.mode if state.stands else None)
            changes.append(replace(folder, undoes=tuple(dict.fromkeys(state.undoes))))
            continue
        if state.text is None:
            if state.first is None:
                continue
            change = make_deletion(path, state.relative, state.first, state.first_form, binary=state.binary)
        elif (
            state.text == state.first
            and state.text_encoding == state.first_form
            and state.mode in (None, state.first_mode)
        ):
            continue
        elif state.binary:
            action = "create" if state.first is None else "update"
            change = FileChange(
                path, state.relative, action, state.first, state.text, state.text_encoding, (), 0, 0, binary=True
            )
        else:
            change = make_change(path, state.relative, state.first, state.text, state.text_encoding)
        old_encoding = (
            state.first_form if state.first is not None and state.first_form != change.text_encoding else None
        )
        mode = state.mode if state.mode != state.first_mode else None
        undoes = tuple(dict.fromkeys(state.undoes))
        changes.append(replace(change, old_encoding=old_encoding, mode=mode, undoes=undoes, disk_tag=state.disk_tag))
    return tuple(changes)
