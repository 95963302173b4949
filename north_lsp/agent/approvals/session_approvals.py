"""Reads and changes, for a session, what runs or is written without a question; every change is reported to its
editor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio.to_thread

from north_lsp.agent.approvals.project import ProjectApprovals, moved_aside
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import ApprovalsChanged, Notice
from north_lsp.storage.approvals import Permission, Switch
from north_lsp.storage.trust import By


class SessionApprovals:
    """The approvals that one session uses; most of them hold for the whole project. `on_trust` is awaited when the user
    has decided whether to trust it."""

    def __init__(self, approvals: ProjectApprovals, editor: Editor, on_trust: Callable[[], Awaitable[None]]) -> None:
        self._approvals = approvals
        self._editor = editor
        self._on_trust = on_trust

    @property
    def edits_auto_accepted(self) -> bool:
        return self._approvals.edits_auto_accepted()

    @property
    def commands_auto_approved(self) -> bool:
        return self._approvals.shell_auto_approved()

    async def set_edits_auto_accepted(self, value: bool) -> None:
        """Set auto-accept for this project, from the next edit on."""
        approvals = self._approvals
        await self._switch(approvals.enable_edits_auto_accept if value else approvals.disable_edits_auto_accept)

    async def set_commands_auto_approved(self, value: bool) -> None:
        """Set auto-approve for this project, from the next command on."""
        approvals = self._approvals
        await self._switch(approvals.enable_shell_auto_approve if value else approvals.disable_shell_auto_approve)

    async def accept_for_conversation(self, switch: Switch) -> None:
        """Turn the switch on until this conversation is closed, from the next edit or command on."""
        approvals = self._approvals
        edits = switch == "editsAutoAccept"
        await self._switch(
            approvals.accept_edits_of_this_session if edits else approvals.approve_commands_of_this_session
        )

    def only_for_conversation(self, switch: Switch) -> bool:
        """Tell whether the switch is on, but only until this conversation is closed."""
        return self._approvals.holds_for_session_only(switch)

    @property
    def trusted(self) -> tuple[bool, By] | None:
        """The trust in the workspace and who decided it; None if it is undecided."""
        return self._approvals.trust.decided()

    async def set_trusted(self, value: bool, by: By) -> None:
        """Set the trust in this workspace, from the next question on."""
        error = await anyio.to_thread.run_sync(self._approvals.trust.decide, value, by)
        await self._on_trust()
        await self._told(error)

    async def listed(self) -> list[Permission]:
        """Return all permissions of this project."""
        return await anyio.to_thread.run_sync(self._approvals.listed)

    async def revoke(self, id: str) -> bool:
        """Revoke one of `listed`; False if no permission has that id."""
        found = await anyio.to_thread.run_sync(self._approvals.revoke_id, id)
        await self._told(self._approvals.write_error)
        return found

    async def _switch(self, change: Callable[[], None]) -> None:
        await anyio.to_thread.run_sync(change)
        await self._told(self._approvals.write_error)

    async def _told(self, error: OSError | None) -> None:
        """Tell the editor that approvals changed; with an `error`, that the change could not be stored and holds for
        this session only."""
        if error is not None:
            await self._editor.show(Notice("error", f"this could not be stored: {error.strerror}"))
        if (aside := self._approvals.take_aside()) is not None:
            await self._editor.show(Notice("warning", moved_aside(aside)))
        await self._editor.show(ApprovalsChanged())
