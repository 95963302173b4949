"""The stored approvals of a project, as the core uses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from north_lsp.command_policy.allowed import CommandApprovals
from north_lsp.display import visible
from north_lsp.storage.approvals import Permission, Switch
from north_lsp.storage.trust import Trust


class ProjectApprovals(CommandApprovals, Protocol):
    """The permissions of a project, and ways to add to them."""

    def allow_command(self, command: str) -> None: ...

    def allow_rule(self, rule: dict[str, Any]) -> None: ...

    def tool_allowed(self, name: str, digest: str) -> bool: ...

    def allow_tool(self, name: str, digest: str, server: str) -> None: ...

    def host_allowed(self, host: str) -> frozenset[str] | None: ...

    def allow_host(self, host: str, addresses: frozenset[str]) -> None: ...

    def listed(self) -> list[Permission]: ...

    def revoke_id(self, id: str) -> bool: ...

    def note_use(self, used: Sequence[str | Mapping[str, object]]) -> None: ...

    def edits_auto_accepted(self) -> bool: ...

    def enable_edits_auto_accept(self) -> None: ...

    def disable_edits_auto_accept(self) -> None: ...

    def accept_edits_of_this_session(self) -> None: ...

    def enable_shell_auto_approve(self) -> None: ...

    def approve_commands_of_this_session(self) -> None: ...

    def disable_shell_auto_approve(self) -> None: ...

    def holds_for_session_only(self, switch: Switch) -> bool: ...

    @property
    def trust(self) -> Trust: ...

    def take_aside(self) -> Path | None:
        """Return, once, where a file was moved that could not be read."""
        ...

    @property
    def write_error(self) -> OSError | None:
        """The error because of which the last answer could not be stored; that answer then holds for this session
        only."""
        ...


def moved_aside(path: Path) -> str:
    """Return what to tell the user about a file of approvals that could not be read."""
    return (
        f"the approvals of this project could not be read and were kept as {visible(str(path))}: what they allowed "
        "asks again"
    )
