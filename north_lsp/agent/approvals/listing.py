"""Lists for people what the user has allowed in this project, with origin and last use; entries are revoked by id."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.command_policy.allowed import Rule
from north_lsp.display import one_line
from north_lsp.storage.approvals import Permission

_SWITCHES = {"editsAutoAccept": "all edits", "shellAutoApprove": "all commands"}
_ORIGINS = {
    "user": "allowed by you",
    "project": "only in the project's file; it has no effect until you allow it",
    "session": "for this conversation only",
}


def what_it_allows(permission: Permission) -> str:
    """Describe a permission in one line."""
    match permission.permission:
        case str(text):
            return _SWITCHES.get(text, f"`{one_line(text, 500)}`, exactly")
        case {"tool": str(name), "server": str(server)}:
            return f"the tool {one_line(name, 100)} of the MCP server {one_line(server, 100)}, as it is described now"
        case {"host": str(host)}:
            return f"fetching from {one_line(host, 300)}"
        case content:
            rule = Rule.from_json(content)
            return one_line(rule.described(), 500) if rule is not None else "not a rule: it allows nothing"


def described(permissions: Sequence[Permission]) -> str:
    """Return the permissions as a Markdown list; a row's number is what the user types to revoke it."""
    if not permissions:
        return "In this project, every edit and every command asks first."
    rows = []
    for number, one in enumerate(permissions, 1):
        since = f" on {one.since[:10]}" if one.since else ""
        used = f", last used {one.last_used}" if one.last_used else ""
        rows.append(f"{number}. {what_it_allows(one)} ({_ORIGINS[one.origin]}{since}{used})")
    return "\n".join(rows)
