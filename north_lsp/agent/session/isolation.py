"""An agent in a work tree of its own: the tree is made, and what was changed in it is proposed to the user as one edit.
However the agent ends, the tree is removed."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import anyio.from_thread
import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.planning.workflow_hold import hold_on
from north_lsp.agent.ports.events import CallEnded, CallNamed, Notice
from north_lsp.agent.ports.results import Result
from north_lsp.agent.session.agent_run import Outcome
from north_lsp.agent.session.model_turns import TurnMeans
from north_lsp.agent.subagents.agent_editor import AgentEditor, Names
from north_lsp.agent.subagents.place import Place, place_in
from north_lsp.agent.subagents.services import AgentEdits
from north_lsp.agent.subagents.tree_changes import Brought, changes_of
from north_lsp.agent.subagents.work_tree import WorkTree, clear_left_trees, make_tree
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.workspace.edit.diff import unified
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

_ATTEMPTS = 3
_SHOWN = 20
_CHARACTERS = 8_000
_NOT_PROPOSED = ("cancelled",)


@asynccontextmanager
async def own_tree(means: TurnMeans, workspace: Workspace, name: str, editor: AgentEditor) -> AsyncIterator[Place]:
    """Make a work tree for an agent, and remove it in the end. Raises ToolError."""
    unsaved = await workspace.unsaved_texts()
    await editor.act("making its work tree")
    folder = means.environment.locations.work_trees

    def step(files: int) -> None:
        anyio.from_thread.check_cancelled()
        if files:
            anyio.from_thread.run(editor.act, f"making its work tree: {files:,} files")

    def made() -> WorkTree:
        clear_left_trees(folder)
        return make_tree(folder, f"{means.stored.conversation.id}-{name}", workspace, unsaved, step)

    tree = await anyio.to_thread.run_sync(made)
    try:
        yield await anyio.to_thread.run_sync(place_in, tree, workspace)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(tree.remove)


class Homecoming:
    """Proposes to the user what an agent changed in its tree. `editor` is the agent's in the user's files, `owns` what
    it may change there, None for anything."""

    def __init__(
        self,
        means: TurnMeans,
        workspace: Workspace,
        place: Place,
        editor: AgentEditor,
        owns: tuple[str, ...] | None = None,
    ) -> None:
        self._means = means
        self._workspace = workspace
        self._place = place
        self._editor = editor
        self._owns = owns

    async def bring(self, names: Names, outcome: Outcome) -> Outcome:
        """Have the changes reviewed, and say in the outcome what became of them. Raises StopTurn."""
        if outcome.state in _NOT_PROPOSED:
            return outcome
        try:
            told = await self._reviewed(names)
        except ToolError as error:
            told = f"Its work tree could not be compared with the user's files ({error}), so nothing was proposed."
            if (tree := self._place.tree) is not None:
                await anyio.to_thread.run_sync(tree.keep)
                told += f" It is kept: {tree.root}"
            await self._means.ports.show(Notice("warning", f"{names.asker}: {told}"))
        return replace(outcome, summary="\n".join(part for part in (outcome.summary, told) if part))

    async def _reviewed(self, names: Names) -> str:
        brought = Brought(())
        if (tree := self._place.tree) is None:
            return ""
        for attempt in range(_ATTEMPTS):
            brought = await changes_of(tree, self._workspace, self._owns)
            await self._tell_conflicts(names, brought)
            if not brought.changes:
                return await self._said("It proposes no change of the user's files.", brought)
            call = ToolCall(f"tree-{attempt}", "task", {})
            try:
                result = await self._proposed(names, call, brought)
            except ToolError as error:
                if error.code == "STALE" and attempt + 1 < _ATTEMPTS:
                    continue  # the user's files have changed while the question waited
                why = f"Its changes could not be applied: {error}"
                await self._means.ports.show(Notice("warning", f"{names.asker}: {why}"))
                return await self._said(why, brought, brought.changes)
            what = "The user was asked about its changes, as one edit of the user's files"
            return await self._said(f"{what}: {result.text}", brought)
        raise AssertionError("the last attempt returns")

    async def _proposed(self, names: Names, call: ToolCall, brought: Brought) -> Result:
        stored, ports = self._means.stored, self._means.ports
        self._ensure_writing(brought.changes)
        reviews = ReviewRecord(stored.log, self._editor, stored.approvals, self._means.saved.sync)
        edits = AgentEdits(reviews, self._editor, stored.checkpoints, self._means.runner.expect, ports.diagnostics)
        edits.names = names
        files = f"{len(brought.changes)} file{'s' if len(brought.changes) > 1 else ''}"
        title = f"What it changed in its work tree, {files}"
        await self._editor.show(CallNamed(call.id, "edit_apply_batch", "edit", title))
        try:
            result = await edits.review(self._workspace, call, title, brought.changes)
        except ToolError as error:
            await self._editor.show(CallEnded(call.id, title, False, error.message))
            raise
        await self._editor.show(replace(result.ended, call_id=call.id))
        return result

    def _ensure_writing(self, changes: Sequence[FileChange]) -> None:
        """Refuse where the conversation may not write at this moment, whatever it might when the agent began. Raises
        ToolError."""
        log = self._means.stored.log
        if log.mode != "agent":
            raise ToolError("MODE_FORBIDDEN", f"the conversation is in {log.mode} mode, so nothing was written")
        if (hold := hold_on(log, self._workspace.roots.main)) is not None:
            hold.refuse_writing(path for change in changes for path in change.paths)

    async def _tell_conflicts(self, names: Names, brought: Brought) -> None:
        if brought.conflicts:
            rows = [one.partition("\n")[0] for one in brought.conflicts[:_SHOWN]]
            told = "\n".join(f"{names.asker}: {row.rstrip(':')}" for row in rows)
            await self._means.ports.show(Notice("warning", f"Where you changed the same, your text stays.\n{told}"))

    async def _said(self, what: str, brought: Brought, lost: Sequence[FileChange] = ()) -> str:
        """Say what became of the changes; what is too long for that, and the patch of what is `lost`, is kept as an
        artifact, which is named."""
        parts, left = [what], list[str]()
        for head, rows in (
            ("Conflicts with what the user changed meanwhile, where the user's text stays:", brought.conflicts),
            ("Not proposed:", brought.left_out),
        ):
            some = _some(rows)
            parts += [head, *some] if rows else []
            if len(some) < len(rows):
                parts.append(f"and {len(rows) - len(some)} more")
                left += [head, *rows]
        lost = (*lost, *brought.too_much)
        if lost or left:
            parts.append(await anyio.to_thread.run_sync(self._kept, left, lost))
        return "\n".join(parts)

    def _kept(self, left: Sequence[str], lost: Sequence[FileChange]) -> str:
        text = "\n".join([*left, *(unified(change) for change in lost)])
        artifacts = self._means.stored.artifacts
        where = "could not be stored" if artifacts is None else f"artifact://{artifacts.add('task', text)}"
        shown = text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}\n[…]"
        return f"What was not written, in full: {where}\n{shown}" if lost else f"All of them: {where}"


def _some(rows: Sequence[str]) -> list[str]:
    """Return the first rows, as many as fit."""
    found, left = list[str](), _CHARACTERS
    for row in rows[:_SHOWN]:
        left -= len(row)
        if left < 0:
            break
        found.append(row)
    return found
