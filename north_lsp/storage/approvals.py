"""The lasting permissions that the user has given in a project.

Each permission is in two files and holds only while it is in both: one in the project, which people share and read, and
one of the user's own. So a cloned repository can neither allow anything nor keep what the user has revoked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.approval_files import ApprovalFiles, Content, Step, record, rows
from north_lsp.storage.command_identity import trimmed
from north_lsp.storage.entries import timestamp
from north_lsp.storage.locations import Locations
from north_lsp.storage.trust import Trust

Switch = Literal["editsAutoAccept", "shellAutoApprove"]

Origin = Literal["user", "project", "session"]


@dataclass(frozen=True, slots=True)
class Permission:
    """A switch, an exact command or a rule. `origin` "project" means that only the project's file has it, so it allows
    nothing; "session" that it holds for this conversation only. Times are as in the file."""

    id: str
    permission: str | Content
    origin: Origin
    since: str | None
    last_used: str | None


class Approvals:
    """The permissions of one project, read again for each question, so that other processes' changes count at once.

    A change that cannot be saved holds for this object's life only, and `write_error` says why. In a workspace that
    is not trusted nothing is allowed, whatever was said before; that applies again once it is trusted.
    """

    def __init__(self, locations: Locations, project_hash: str, root: Path) -> None:
        self.write_error: OSError | None = None
        self._files = ApprovalFiles(locations, project_hash, root)
        self._unsaved_switches: dict[Switch, bool] = {}
        self._of_session: set[Switch] = set()
        self.trust = Trust(locations, project_hash)
        self._unsaved_commands: set[str] = set()
        self._unsaved_rules: list[Content] = []
        self._unsaved_tools: dict[str, str] = {}
        self._unsaved_hosts: dict[str, frozenset[str]] = {}
        self._noted: dict[str, str] = {}

    def take_aside(self) -> Path | None:
        """Return, once, where a file was moved that could not be read: what it allowed is not allowed any more."""
        return self._files.take_aside()

    def distrusted(self) -> bool:
        return self.trust.is_distrusted()

    def edits_auto_accepted(self) -> bool:
        return self._is_in_force("editsAutoAccept")

    def enable_edits_auto_accept(self) -> None:
        self._switch("editsAutoAccept", on=True)

    def accept_edits_of_this_session(self) -> None:
        """Allow it until this conversation is closed; it is stored nowhere."""
        self._of_session.add("editsAutoAccept")

    def disable_edits_auto_accept(self) -> None:
        self._switch("editsAutoAccept", on=False)

    def shell_auto_approved(self) -> bool:
        return self._is_in_force("shellAutoApprove")

    def enable_shell_auto_approve(self) -> None:
        self._switch("shellAutoApprove", on=True)

    def approve_commands_of_this_session(self) -> None:
        """Allow it until this conversation is closed; it is stored nowhere."""
        self._of_session.add("shellAutoApprove")

    def disable_shell_auto_approve(self) -> None:
        self._switch("shellAutoApprove", on=False)

    def holds_for_session_only(self, switch: Switch) -> bool:
        """Tell whether a switch is on only until this conversation is closed."""
        return self._is_in_force(switch) and not self._is_on(switch)

    def command_allowed(self, command: str) -> bool:
        """Tell whether exactly this text, except for whitespace around it, was allowed."""
        command = trimmed(command)
        if self.distrusted():
            return False
        if command in self._unsaved_commands:
            return True
        shared = [
            trimmed(text) for text in rows(self._files.read("allowlist"), "allowedCommands") if isinstance(text, str)
        ]
        return bool(command) and command in shared and command in record(self._files.read("own"), "allowed")

    def allow_command(self, command: str) -> None:
        """Allow exactly this command. Raises ValueError for an empty one."""
        command = trimmed(command)
        if not command:
            raise ValueError("there is no command to allow")

        def share(content: Content) -> None:
            commands = rows(content, "allowedCommands")
            content["allowedCommands"] = commands if command in commands else [*commands, command]

        def note(content: Content) -> None:
            content["allowed"] = {**record(content, "allowed"), command: {"at": timestamp()}}

        if not self._save(("allowlist", share), ("own", note)):
            self._unsaved_commands.add(command)

    def command_rules(self) -> list[Content]:
        """Return the rules that both files have, as they were written; what they mean is up to the caller."""
        if self.distrusted():
            return []
        own = record(self._files.read("own"), "rules")
        shared = [rule for rule in _rules(self._files.read("allowlist")) if _key(rule) in own]
        return [*shared, *(rule for rule in self._unsaved_rules if rule not in shared)]

    def allow_rule(self, rule: Content) -> None:
        def share(content: Content) -> None:
            rules = _rules(content)
            content["rules"] = rules if rule in rules else [*rules, rule]
            content.setdefault("allowedCommands", [])

        def note(content: Content) -> None:
            content["rules"] = {**record(content, "rules"), _key(rule): {"at": timestamp()}}

        if not self._save(("allowlist", share), ("own", note)):
            self._unsaved_rules.append(rule)

    def tool_allowed(self, name: str, digest: str) -> bool:
        """Tell whether a tool of another program was allowed as it is described now, which `digest` stands for."""
        if self.distrusted():
            return False
        row = record(self._files.read("own"), "mcpAllowed").get(name)
        known = row.get("definition") if isinstance(row, dict) else self._unsaved_tools.get(name)
        return bool(digest) and known == digest

    def allow_tool(self, name: str, digest: str, server: str) -> None:
        """Allow all calls of a tool of another program, as long as it is described like this. Nothing of it is in the
        project's file: it depends on what runs on this machine."""

        def note(content: Content) -> None:
            content["mcpAllowed"] = {
                **record(content, "mcpAllowed"),
                name: {"at": timestamp(), "server": server, "definition": digest},
            }

        if not self._save(("own", note)):
            self._unsaved_tools[name] = digest

    def revoke_tool(self, name: str) -> None:
        """Have a tool of another program ask again."""

        def note(content: Content) -> None:
            content["mcpAllowed"] = {key: row for key, row in record(content, "mcpAllowed").items() if key != name}

        self._unsaved_tools.pop(name, None)
        self._save(("own", note))

    def host_allowed(self, host: str) -> frozenset[str] | None:
        """Return, if fetching from a host was allowed, at which addresses outside of the public internet; else None."""
        if self.distrusted():
            return None
        row = record(self._files.read("own"), "hostsAllowed").get(host)
        if not isinstance(row, dict):
            return self._unsaved_hosts.get(host)
        addresses = row.get("addresses")
        return frozenset(one for one in addresses if isinstance(one, str)) if isinstance(addresses, list) else None

    def allow_host(self, host: str, addresses: frozenset[str]) -> None:
        """Allow fetching from a host; outside of the public internet only while it has one of these addresses."""

        def note(content: Content) -> None:
            content["hostsAllowed"] = {
                **record(content, "hostsAllowed"),
                host: {"at": timestamp(), "addresses": sorted(addresses)},
            }

        if not self._save(("own", note)):
            self._unsaved_hosts[host] = addresses

    def revoke_host(self, host: str) -> None:
        """Have fetching from a host ask again."""

        def note(content: Content) -> None:
            content["hostsAllowed"] = {key: row for key, row in record(content, "hostsAllowed").items() if key != host}

        self._unsaved_hosts.pop(host, None)
        self._save(("own", note))

    def revoke(self, permission: str | Content) -> None:
        """Revoke an exact command or a rule."""

        def share(content: Content) -> None:
            content["allowedCommands"] = [one for one in rows(content, "allowedCommands") if one != permission]
            if "rules" in content:
                content["rules"] = [one for one in _rules(content) if one != permission]

        def note(content: Content) -> None:
            content["allowed"] = {name: row for name, row in record(content, "allowed").items() if name != permission}
            key = "" if isinstance(permission, str) else _key(permission)
            content["rules"] = {name: row for name, row in record(content, "rules").items() if name != key}

        self._unsaved_commands.discard(permission if isinstance(permission, str) else "")
        self._unsaved_rules = [rule for rule in self._unsaved_rules if rule != permission]
        self._save(("own", note), ("allowlist", share))

    def note_use(self, used: Sequence[str | Mapping[str, object]]) -> None:
        """Record the day on which permissions were last used."""
        today = timestamp()[:10]
        new = [one for one in used if self._noted.get(_id(one)) != today]
        if not new:
            return
        self._noted |= {_id(one): today for one in new}

        def note(content: Content) -> None:
            for one in new:
                group, key = ("allowed", one) if isinstance(one, str) else ("rules", _key(dict(one)))
                row = content.get(group, {}).get(key)
                if isinstance(row, dict):
                    row["lastUsed"] = today

        error = self.write_error
        self._save(("own", note))
        self.write_error = error  # nothing is lost for the user if this cannot be stored

    def listed(self) -> list[Permission]:
        """List all that is in force, and what the project's file has that this user has not accepted."""
        own, shared = self._files.read("own"), self._files.read("allowlist")
        found = [
            Permission(switch, switch, "user", _when(own.get(switch)), None)
            for switch in get_args(Switch)
            if self._is_on(switch)
        ]
        found += [
            Permission(switch, switch, "session", None, None)
            for switch in get_args(Switch)
            if switch in self._of_session and not self._is_on(switch)
        ]
        entries = [
            *(text for text in rows(shared, "allowedCommands") if isinstance(text, str)),
            *self._unsaved_commands,
        ]
        records: list[tuple[str | Content, object, bool]] = [
            (trimmed(text), record(own, "allowed").get(trimmed(text)), text in self._unsaved_commands)
            for text in entries
        ]
        records += [(rule, record(own, "rules").get(_key(rule)), False) for rule in _rules(shared)]
        records += [(rule, None, True) for rule in self._unsaved_rules]
        for entry, row, unsaved in records:
            origin: Origin = "session" if unsaved else "user" if row is not None else "project"
            found.append(Permission(_id(entry), entry, origin, _when(row), _when(row, "lastUsed")))
        for name, row in record(own, "mcpAllowed").items():
            about: Content = {"tool": name, "server": str(row.get("server")) if isinstance(row, dict) else ""}
            found.append(Permission(_id(about), about, "user", _when(row), None))
        for host, row in record(own, "hostsAllowed").items():
            found.append(Permission(_id({"host": host}), {"host": host}, "user", _when(row), None))
        return list({one.id: one for one in found}.values())

    def revoke_id(self, id: str) -> bool:
        """Revoke one of `listed` by its id; False if there is none."""
        found = next((one for one in self.listed() if one.id == id), None)
        if found is None:
            return False
        match found.permission:
            case "editsAutoAccept":
                self.disable_edits_auto_accept()
            case "shellAutoApprove":
                self.disable_shell_auto_approve()
            case {"tool": str(name)}:
                self.revoke_tool(name)
            case {"host": str(host)}:
                self.revoke_host(host)
            case permission:
                self.revoke(permission)
        return True

    # -- inside ----------------------------------------------------------------------------------------------------

    def _is_in_force(self, switch: Switch) -> bool:
        return (switch in self._of_session or self._is_on(switch)) and not self.distrusted()

    def _is_on(self, switch: Switch) -> bool:
        if (unsaved := self._unsaved_switches.get(switch)) is not None:
            return unsaved
        if self._files.read("autoaccept").get(switch) is not True:
            return False
        match self._files.read("own").get(switch):
            case {"value": True}:
                return True
            case _:
                return False

    def _switch(self, switch: Switch, *, on: bool) -> None:
        self._of_session.discard(switch)

        def share(content: Content) -> None:
            content[switch] = on

        def note(content: Content) -> None:
            content[switch] = {"value": on, "at": timestamp()}

        if self._save(("own", note), ("autoaccept", share)):
            self._unsaved_switches.pop(switch, None)
        else:
            self._unsaved_switches[switch] = on

    def _save(self, *steps: Step) -> bool:
        self.write_error = None
        try:
            self._files.change(*steps)
        except OSError as error:
            self.write_error = error
            return False
        return True


def _key(rule: Content) -> str:
    """Return a rule's name in the user's own record: its content in a canonical form."""
    return json.dumps(rule, sort_keys=True, separators=(",", ":"))


def _id(permission: str | Mapping[str, object]) -> str:
    if permission in get_args(Switch):
        return str(permission)
    if not isinstance(permission, str) and "tool" in permission:
        return f"tool:{permission['tool']}"
    if not isinstance(permission, str) and "host" in permission:
        return f"host:{permission['host']}"
    return f"command:{permission}" if isinstance(permission, str) else f"rule:{_key(dict(permission))}"


def _when(row: object, key: str = "at") -> str | None:
    value = row.get(key) if isinstance(row, dict) else None
    return value if isinstance(value, str) else None


def _rules(content: Content) -> list[Content]:
    return [rule for rule in rows(content, "rules") if isinstance(rule, dict)]
