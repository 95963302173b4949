"""The commands for what runs without asking, and for what is running."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, Host, Reply, UsageError

_KINDS = {"edits": "Edits", "shell": "Commands"}
_SWITCH = {"on": True, "off": False}
_NOT_IGNORED = (
    "Git does not ignore `.north/autoaccept.json`, where this is kept: `/autoaccept ignore` adds it, and the other "
    "files of `.north` that are your own, to the repository's `info/exclude`, which is never committed."
)


async def _permissions(host: Host, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(await host.permissions())
        case ["revoke", number] if number.isdecimal() and len(number) < 6:
            return Reply(await host.revoke(int(number)))
        case _:
            raise UsageError


async def _autoaccept(host: Host, words: Sequence[str]) -> Reply:
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


def _state(host: Host, kind: str) -> str:
    if not host.auto[kind]:
        return "ask first"
    until = ", in this conversation" if host.only_for_conversation(kind) else ""
    return f"accepted without asking{until}"


async def _trust(host: Host, words: Sequence[str]) -> Reply:
    match words:
        case []:
            pass
        case [state] if state in _SWITCH:
            await host.set_trust(on=_SWITCH[state])
        case _:
            raise UsageError
    return Reply(host.trust())


async def _jobs(host: Host, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(host.jobs())
        case ["kill", id]:
            return Reply(await host.end_job(id))
        case _:
            raise UsageError


async def _terminal(host: Host, words: Sequence[str]) -> Reply:
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
