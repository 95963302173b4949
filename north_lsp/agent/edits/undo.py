"""The changes of a conversation that can be undone or redone: which they are, what they were, and doing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.edits.apply import apply_proposal
from north_lsp.agent.edits.checkpoints import Checkpoint, Checkpoints, depth, live
from north_lsp.agent.edits.present import Present
from north_lsp.agent.edits.taking_back import Conflicts, FileOutcome, FileState, PresentFile, TakingBack
from north_lsp.agent.edits.totals import First, first_contents, missing
from north_lsp.agent.log.checkpoints import FileRecord
from north_lsp.agent.ports.editor import OpenTexts
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import new_entry_id
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change, unified
from north_lsp.workspace.proposal import EditProposal, FileChange, TextEncoding
from north_lsp.workspace.text import decode, is_binary
from north_lsp.workspace.workspace import Workspace

_NO_LOSS = ("restored", "merged", "unchanged")
_GUARDED = ("IGNORED", "DENIED")


@dataclass(frozen=True, slots=True)
class Plan:
    """A prepared undo: the changes, and what becomes of every file. `checkpoints` are those that are undone."""

    changes: tuple[FileChange, ...]
    files: tuple[FileOutcome, ...]
    checkpoints: tuple[str, ...]


class UndoHistory:
    """The undo of one conversation. The caller makes sure that no turn is running."""

    def __init__(self, checkpoints: Checkpoints, workspace: Workspace, documents: OpenTexts) -> None:
        self._checkpoints = checkpoints
        self._workspace = workspace
        self._documents = documents

    def all(self) -> list[Checkpoint]:
        """Return every checkpoint, the oldest first."""
        return self._checkpoints.all()

    def name_point(self, name: str) -> str:
        """Mark this place with a name; returns the id by which `since` restores it. Raises ToolError INVALID_INPUT."""
        return self._checkpoints.name_point(name)

    # -- which -----------------------------------------------------------------------------------------------------

    def last(self, steps: int, path: Path | None = None) -> list[Checkpoint]:
        """Return the last changes that still hold, all or those of one file, the newest first."""
        return self._holding(0, steps, path)

    def last_undone(self, steps: int, path: Path | None = None) -> list[Checkpoint]:
        """Return the last undos that still hold, the newest first: undoing them makes their changes again."""
        return self._holding(1, steps, path)

    def of_turn(self, turn: str) -> list[Checkpoint]:
        """Return the changes of a turn, by the entry of its prompt, the newest first."""
        return [one for one in self._holding(0, None, None) if one.turn == turn]

    def since(self, checkpoint: str) -> list[Checkpoint]:
        """Return a checkpoint and what was changed, undone or redone after it, the newest first: taking these back
        restores what was there before. An undo whose changes are all in this list is left out. Raises ToolError
        NOT_FOUND."""
        first = self.find(checkpoint)
        known = self._checkpoints.all()
        return self._restoring(known[[one.id for one in known].index(first.id) :])

    def since_entry(self, entry_id: str) -> list[Checkpoint]:
        """Return what `since` does, for everything that was changed after an entry of the conversation."""
        return self._restoring(self._checkpoints.after(entry_id))

    def changed_since_entry(self, entry_id: str) -> list[str]:
        """Return the files that were changed after an entry of the conversation, by changes that still hold."""
        holds = live(self._checkpoints.all())
        changed = [(one, file) for one in self.since_entry(entry_id) for file in one.files]
        names = (file.new_relative or file.relative for one, file in changed if holds[(one.id, file.path)])
        return list(dict.fromkeys(names))

    def _restoring(self, later: Sequence[Checkpoint]) -> list[Checkpoint]:
        ids, holds = {one.id for one in later}, live(self._checkpoints.all())
        found = [
            one
            for one in reversed(later)
            if any(not file.undoes or not ids.issuperset(file.undoes) for file in one.files)
        ]
        return found if any(holds[(one.id, file.path)] for one in found for file in one.files) else []

    def find(self, checkpoint: str) -> Checkpoint:
        """Find a checkpoint by its id. Raises ToolError NOT_FOUND."""
        for one in self._checkpoints.all():
            if one.id == checkpoint:
                return one
        raise ToolError("NOT_FOUND", f"there is no checkpoint {checkpoint[:64]!r} in this conversation")

    async def file(self, raw_path: str) -> Path:
        """Resolve the path of a file in the workspace. Raises ToolError."""
        return (await anyio.to_thread.run_sync(self._workspace.roots.resolve, raw_path)).path

    def _holding(self, level: int, steps: int | None, path: Path | None) -> list[Checkpoint]:
        every = self._checkpoints.all()
        known, holds = {one.id: one for one in every}, live(every)
        found = [
            one
            for one in reversed(every)
            if _level(depth(one, known)) == level
            and any(
                holds[(one.id, file.path)] for file in one.files if path is None or path in (file.path, file.target)
            )
        ]
        return found if steps is None else found[:steps]

    # -- doing it --------------------------------------------------------------------------------------------------

    async def prepare(
        self, checkpoints: Sequence[Checkpoint], conflicts: Conflicts = "skip", paths: Iterable[Path] | None = None
    ) -> Plan:
        """Work out what taking these checkpoints (newest first) back would change; writes nothing. Raises ToolError."""
        wanted = None if paths is None else set(paths)
        every = self._checkpoints.all()
        holds, done = live(every), set[tuple[str, Path]]()
        work = TakingBack(self._checkpoints.content, conflicts)
        states = work.states
        taken: list[str] = []
        for one in checkpoints:
            files = [
                file
                for file in one.files
                if (wanted is None or wanted & {file.path, file.target}) and holds.get((one.id, file.path), False)
            ]
            await self._read_states(files, states)
            await anyio.to_thread.run_sync(_take_back, work, one.id, files)
            taken += [one.id for _ in files]
            again = {(one.id, file.path) for file in files if file.undoes and one.id in states[file.path].undoes}
            if again:  # what this checkpoint had taken back holds again
                done |= again
                holds = live(every, done)
        changes = await anyio.to_thread.run_sync(work.changes)
        return Plan(changes, work.outcomes, tuple(dict.fromkeys(taken)))

    async def apply(self, plan: Plan, title: str) -> Plan:
        """Write a plan, all of it or nothing. Raises ToolError."""
        if not plan.changes:
            for one in self._checkpoints.all():  # otherwise they would be the last changes forever
                if one.id in plan.checkpoints and all(file.outcome in _NO_LOSS for file in plan.files):
                    self._checkpoints.set_status(one.entry_id, "undone")
            return plan
        proposal = EditProposal(new_entry_id(()), "", plan.changes, title)
        applied = await apply_proposal(proposal, self._workspace, self._documents, self._checkpoints)
        return replace(plan, changes=applied.files)

    async def revert(self, raw_path: str | None, steps: int) -> Sequence[FileChange]:
        """Undo the last changes, all or those of one file, as a proposal of the model. Raises ToolError."""
        path = None if raw_path is None else await self.file(raw_path)
        found = self.last(steps, path)
        if not found:
            what = f" of {raw_path}" if raw_path else ""
            raise ToolError("NOT_FOUND", f"there is no change{what} left to undo in this conversation")
        plan = await self.prepare(found, paths=None if path is None else [path])
        stuck = [one for one in plan.files if one.outcome in ("conflict", "irrecoverable")]
        if stuck and not plan.changes:
            raise ToolError(
                "CONFLICT",
                "; ".join(f"{one.relative}: {one.detail}" for one in stuck),
                "change the place with an ordinary edit instead",
            )
        notices = [f"{one.relative} is left as it is: {one.detail}" for one in stuck]
        first, *rest = plan.changes or (None,)
        if first is None:
            return ()
        return [replace(first, notices=(*first.notices, *notices)), *(one for one in rest if one is not None)]

    async def diffs(self, checkpoint: str, *, now: bool = False) -> list[tuple[FileRecord, str]]:
        """Diff what a checkpoint changed, or (`now`) how its files differ from then until now. The diffs are
        unified."""
        one = self.find(checkpoint)
        texts = [file.target for file in one.files if not file.folder]
        states = await self._shown(texts) if now else {}
        return await anyio.to_thread.run_sync(self._diffs, one, states)

    async def differences(self, since: str | None = None) -> list[tuple[First, str]]:
        """Diff the files that this conversation changed (or changed from a checkpoint on) against how they were before,
        as unified diffs; files that are as they were are left out. Raises ToolError NOT_FOUND."""
        every = self._checkpoints.all()
        if since is not None:
            first = self.find(since)
            every = every[[one.id for one in every].index(first.id) :]
        files = first_contents(every)
        states = await self._shown([file.path for file in files])
        shown = [file for file in files if file.path in states]
        rows = await anyio.to_thread.run_sync(self._differences, shown, states)
        return [
            *rows,
            *((file, f"({file.relative} is a closed file now)\n") for file in files if file.path not in states),
        ]

    def _differences(self, files: list[First], states: dict[Path, PresentFile]) -> list[tuple[First, str]]:
        rows: list[tuple[First, str]] = []
        for file in files:
            before, now = self._checkpoints.content(file.before), states[file.path].contents
            if file.before is not None and before is None:
                rows.append((file, missing(file)))
            elif not now.is_at(file.before):
                binary = now.binary or is_binary(before or b"")
                old = decode(before)[0] if before is not None else None
                if binary:
                    rows.append((file, f"Binary file {file.relative} differs\n"))
                elif now.text is None:
                    rows.append((file, unified(make_deletion(file.path, file.relative, old or "", TextEncoding()))))
                else:
                    rows.append((file, unified(make_change(file.path, file.relative, old, now.text, TextEncoding()))))
        return rows

    def _diffs(self, one: Checkpoint, states: dict[Path, PresentFile]) -> list[tuple[FileRecord, str]]:
        rows: list[tuple[FileRecord, str]] = []
        for file in one.files:
            if file.folder:
                change = make_folder_change(file.path, file.relative, file.action)
                moved = replace(change, new_path=file.new_path, new_relative=file.new_relative)
                rows.append((file, unified(moved)))
                continue
            before, after = self._checkpoints.content(file.before), self._checkpoints.content(file.after)
            if (file.before is not None and before is None) or (file.after is not None and after is None):
                rows.append((file, f"(the contents of {file.relative} were not kept)\n"))
                continue
            old = decode(before)[0] if before is not None else None
            new = decode(after)[0] if after is not None else None
            if file.target in states:
                new = states[file.target].contents.text
            if is_binary(before or b"") or is_binary(after or b""):
                rows.append((file, f"Binary file {file.relative} differs\n"))
            elif new is None:
                made = make_deletion(file.path, file.relative, old or "", TextEncoding())
                rows.append((file, unified(made) if old is not None else ""))
            else:
                rows.append((file, unified(make_change(file.target, file.relative, old, new, TextEncoding()))))
        return rows

    async def _shown(self, paths: Sequence[Path]) -> dict[Path, PresentFile]:
        """Read what is at paths now, but for those that must not be read. Raises ToolError."""
        present = await Present.read(self._workspace, paths)
        found = {path: await present.shown(path) for path in dict.fromkeys(paths)}
        return {path: one for path, one in found.items() if one is not None}

    async def _read_states(self, files: Sequence[FileRecord], states: dict[Path, FileState]) -> None:
        """Add the states of the paths that changes are about, unless they are known."""
        wanted: dict[Path, tuple[str, bool]] = {}
        for file in files:
            for path, shown in ((file.path, file.relative), (file.target, file.new_relative or file.relative)):
                if path not in states:
                    wanted.setdefault(path, (shown, file.folder))
        texts = [path for path, (_, is_folder) in wanted.items() if not is_folder]
        folders = [path for path, (_, is_folder) in wanted.items() if is_folder]
        present = await Present.read(self._workspace, texts, folders)
        for path, (shown, is_folder) in wanted.items():
            states[path] = await present.state(path, shown, folder=is_folder)


def _level(nested: int) -> int:
    """Return what a depth of nested undoing comes to: 0 for a change, 1 for an undo, 2 for a redo."""
    return min(nested, 2 - nested % 2)


def _take_back(work: TakingBack, id: str, files: Sequence[FileRecord]) -> None:
    for file in files:
        work.take_back(id, file)


def news_for_model(checkpoints: Checkpoints) -> list[str]:
    """Tell the model which files have changed without its knowledge, by what the log says."""
    names = checkpoints.unseen()
    left = (
        f"[The user went back to this point of the conversation; since then, these files changed: {', '.join(names)}]"
    )
    return [*undo_for_model(checkpoints.unsaid()), *([left] if names else [])]


def undo_for_model(names: Sequence[str]) -> list[str]:
    """Tell the model which files the user undid or redid changes of between two turns."""
    return [f"[Between turns, the user undid or redid changes to these files: {', '.join(names)}]"] if names else []
