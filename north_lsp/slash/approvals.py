"""The commands for what runs without asking, and for what is running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from north_lsp.slash.base import Command, Reply, UsageError

_KINDS = {"edits": "Edits", "shell": "Commands"}
_SWITCH = {"on": True, "off": False}
_NOT_IGNORED = (
    "Git does not ignore `.north/autoaccept.json`, where this is kept: `/autoaccept ignore` adds it, and the other "
    "files of `.north` that are your own, to the repository's `info/exclude`, which is never committed."
)


class HostForApprovals(Protocol):
    """What commands about approvals and jobs ask of a session. Every method may raise CommandError."""

    async def permissions(self) -> str:
        """List all that is allowed in this project without asking, numbered, in Markdown."""
        ...

    async def revoke(self, number: int) -> str:
        """Revoke a permission by its number in the list that was shown last."""
        ...

    @property
    def auto(self) -> Mapping[str, bool]:
        """Whether `edits` and `shell` (commands) are accepted without asking."""
        ...

    async def set_auto(self, kind: str, *, on: bool) -> None: ...

    async def accept_for_conversation(self, kind: str) -> None:
        """Accept `edits` or `shell` without asking until this conversation is closed."""
        ...

    def only_for_conversation(self, kind: str) -> bool:
        """Tell whether something is accepted only until this conversation is closed."""
        ...

    async def git_would_take_switches(self) -> bool:
        """Tell whether the project's file with these switches would become part of its git repository."""
        ...

    async def keep_switches_out_of_git(self) -> str:
        """Have git ignore the files of North's in the project that are the user's own."""
        ...

    def trust(self) -> str:
        """Say in words whether the workspace is trusted."""
        ...

    async def set_trust(self, *, on: bool) -> None: ...

    def jobs(self) -> str:
        """List what was started in the background, in Markdown."""
        ...

    async def end_job(self, id: str) -> str: ...


async def _permissions(host: HostForApprovals, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(await host.permissions())
        case ["revoke", number] if number.isdecimal() and len(number) < 6:
            return Reply(await host.revoke(int(number)))
        case _:
            raise UsageError


async def _autoaccept(host: HostForApprovals, words: Sequence[str]) -> Reply:
    match words:
        case []:
            pass
        case [kind] if kind in _KINDS:
            await host.set_auto(kind, on=True)
        case [kind, "conversation"] if kind in _KINDS:
            await host.accept_for_conversation(kind)
        case [kind, state] if kind in _KINDS and state in _SWITCH:
            await host.set_auto(kind, on=_SWITCH[state])
        case ["ignore"]:
            return Reply(await host.keep_switches_out_of_git())
        case ["off"]:
            for kind in _KINDS:
                await host.set_auto(kind, on=False)
        case _:
            raise UsageError
    rows = [f"- {name}: {_state(host, kind)}" for kind, name in _KINDS.items()]
    if await host.git_would_take_switches():
        rows += ["", _NOT_IGNORED]
    return Reply("\n".join(["In this project:", "", *rows]))


def _state(host: HostForApprovals, kind: str) -> str:
    if not host.auto[kind]:
        return "ask first"
    until = ", in this conversation" if host.only_for_conversation(kind) else ""
    return f"accepted without asking{until}"


async def _trust(host: HostForApprovals, words: Sequence[str]) -> Reply:
    match words:
        case []:
            pass
        case [state] if state in _SWITCH:
            await host.set_trust(on=_SWITCH[state])
        case _:
            raise UsageError
    return Reply(host.trust())


async def _jobs(host: HostForApprovals, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(host.jobs())
        case ["kill", id]:
            return Reply(await host.end_job(id))
        case _:
            raise UsageError


async def _terminal(host: HostForApprovals, words: Sequence[str]) -> Reply:
    raise UsageError("The prompt must contain nothing else.")


APPROVALS = (
    Command(
        "autoaccept",
        "Show or change what is done without asking",
        _autoaccept,
        "[edits|shell] [on|off|conversation] | off | ignore",
    ),
    Command("jobs", "Show or end background jobs", _jobs, "[kill <id>]"),
    Command("permissions", "Show or revoke what is allowed in this project", _permissions, "[revoke <n>]"),
    Command("trust", "Show or change whether this workspace is trusted", _trust, "[on|off]"),
    Command("terminal", "Run a command in the editor's terminal, where you can type", _terminal, "<command>"),
)
