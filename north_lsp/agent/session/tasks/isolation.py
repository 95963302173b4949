"""What an agent changed in a work tree of its own is proposed to the user as one edit; a package of a workflow only if
it fits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.planning.workflow_hold import Assignment, hold_on
from north_lsp.agent.ports.events import CallEnded, CallNamed, Notice
from north_lsp.agent.ports.results import Result
from north_lsp.agent.session.tasks.agent_run import Outcome
from north_lsp.agent.session.tasks.package_checks import Checked
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.agent.subagents.agent_editor import AgentEditor, Names
from north_lsp.agent.subagents.place import Place
from north_lsp.agent.subagents.services import AgentEdits
from north_lsp.agent.subagents.tree_changes import Brought, changes_of
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.workspace.edit.diff import unified
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

_ATTEMPTS = 3
_SHOWN = 20
_CHARACTERS = 8_000
_NOT_PROPOSED = ("cancelled",)
_BACK = "Give the package to its agent once more, and say what is wrong."
_DO_IT = "Do it yourself once the packages are integrated."


class _Unfit(Exception):
    """A package does not come back; the text says why, with its changes."""


class Homecoming:
    """Proposes to the user what an agent changed in its tree. `editor` is the agent's in the user's files; of a package
    (`assigned`) only what it owns, and only if its `checks` pass and it clashes with nothing."""

    def __init__(
        self,
        means: TurnMeans,
        workspace: Workspace,
        place: Place,
        editor: AgentEditor,
        assigned: Assignment | None = None,
        checks: Callable[[Sequence[FileChange]], Awaitable[Checked]] | None = None,
    ) -> None:
        self._means = means
        self._workspace = workspace
        self._place = place
        self._editor = editor
        self._assigned = assigned
        self._checks = checks

    async def bring(self, names: Names, outcome: Outcome) -> Outcome:
        """Have the changes reviewed, and say in the outcome what became of them. Raises StopTurn."""
        if outcome.state in _NOT_PROPOSED:
            return outcome
        try:
            told = await self._reviewed(names)
        except _Unfit as unfit:
            return replace(outcome, state="failed", summary="\n".join(filter(None, (outcome.summary, str(unfit)))))
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
            owns = self._assigned.package.owns if self._assigned is not None else None
            brought = await changes_of(tree, self._workspace, owns)
            await self._tell_conflicts(names, brought)
            if self._assigned is not None and brought.conflicts and not self._assigned.is_again:
                raise _Unfit(
                    await self._said(f"It conflicts, so none of it was proposed. {_BACK}", brought, brought.changes)
                )
            if not brought.changes:
                return await self._said("It proposes no change of the user's files.", brought)
            checked = await self._checked(brought)
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
            return "\n".join([await self._said(f"{what}: {result.text}", brought), *checked.rows])
        raise AssertionError("the last attempt returns")

    async def _checked(self, brought: Brought) -> Checked:
        """Run the checks of a package with its changes. Raises _Unfit where one keeps it from coming back."""
        if self._assigned is None or self._checks is None:
            return Checked()
        checked = await self._checks(brought.changes)
        if checked.failing:
            what = f"Checks fail with it, so none of it was proposed. {_DO_IT if self._assigned.is_again else _BACK}"
            raise _Unfit("\n".join([await self._said(what, brought, brought.changes), *checked.rows]))
        return checked

    async def _proposed(self, names: Names, call: ToolCall, brought: Brought) -> Result:
        stored, ports = self._means.stored, self._means.ports
        self._ensure_writing(brought.changes)
        reviews = ReviewRecord(stored.log, self._editor, stored.approvals, self._means.saved.sync)
        edits = AgentEdits(reviews, self._editor, stored.checkpoints, self._means.shell.expect, ports.diagnostics)
        edits.names = names
        files = f"{len(brought.changes)} file{'s' if len(brought.changes) > 1 else ''}"
        title = f"What it changed in its work tree, {files}"
        await self._editor.show(CallNamed(call.id, "edit_apply_batch", "edit", title))
        ended = [CallEnded(call.id, title, False, "Stopped; nothing was written.")]
        try:
            result = await edits.review(
                self._workspace, call, title, brought.changes, lambda written: ended.append(written.ended)
            )
            ended.append(result.ended)
        except ToolError as error:
            ended.append(CallEnded(call.id, title, False, error.message))
            raise
        finally:
            with anyio.CancelScope(shield=True):  # what was written is shown, even if just cancelled
                await self._editor.show(replace(ended[-1], call_id=call.id))
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
            await self._means.ports.show(
                Notice("warning", f"Where you changed the same lines, your version is kept.\n{told}")
            )

    async def _said(self, what: str, brought: Brought, lost: Sequence[FileChange] = ()) -> str:
        """Say what became of the changes; what is too long for that, and the patch of what is `lost`, is kept as an
        artifact, which is named."""
        parts, left = [what], list[str]()
        for head, rows in (
            ("Conflicts with what the user changed meanwhile, where the user's version is kept:", brought.conflicts),
            ("Not proposed:", brought.left_out),
        ):
            some = _some(rows)
            parts += [head, *some] if rows else []
            if len(some) < len(rows):
                parts.append(f"and {len(rows) - len(some)} more")
                left += [head, *rows]
        if any(one.binary and one.action != "delete" for one in lost) and (tree := self._place.tree) is not None:
            await anyio.to_thread.run_sync(tree.keep)
            parts.append(f"Binary files are left in the work tree, which is kept: {tree.root}")
        lost = (*lost, *brought.lost)
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
