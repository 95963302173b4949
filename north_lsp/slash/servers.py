"""The command about MCP servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from north_lsp.slash.base import Command, CommandError, Reply, UsageError

_ADD = "`add` alone asks for what it needs; else it is `add <name> --url <address>`, or `add <name> -- <command>`."
_OPTIONS = {"--header": "headers", "--env": "env"}
_SECRETS = frozenset({"--token", "--header", "--env"})


class HostForServers(Protocol):
    """What commands about MCP servers ask of a session. Every method may raise CommandError."""

    async def servers(self) -> str:
        """List the MCP servers with their state and their tools, in Markdown."""
        ...

    async def switch_server(self, name: str, *, on: bool) -> str: ...

    async def reconnect_servers(self, name: str | None) -> str:
        """Connect to an MCP server again, or to all; say what came of it."""
        ...

    def server_log(self, name: str) -> str: ...

    async def add_server(self, name: str, entry: Mapping[str, object]) -> str:
        """Add an MCP server to the user's own, and connect to it; return what came of it, in Markdown."""
        ...

    async def remove_server(self, name: str) -> str: ...

    async def add_server_by_form(self, name: str) -> str:
        """Have the user say in a form how a server is reached, and add it."""
        ...

    async def sign_in_to_server(self, name: str) -> str:
        """Have the user sign in to an MCP server in a browser, and connect again; `/cancel` gives it up."""
        ...

    async def sign_out_of_server(self, name: str) -> str: ...


async def _mcp(host: HostForServers, words: Sequence[str]) -> Reply:
    match words:
        case [] | ["list"]:
            return Reply(await host.servers())
        case ["enable" | "disable" as what, name]:
            return Reply(await host.switch_server(name, on=what == "enable"))
        case ["reload" | "reconnect" | "test", *rest] if len(rest) <= 1:
            return Reply(await host.reconnect_servers(rest[0] if rest else None))
        case ["logs", name]:
            return Reply(host.server_log(name))
        case ["add"] | ["add", _]:
            return Reply(await host.add_server_by_form(words[1] if len(words) > 1 else ""))
        case ["add", name, *rest]:
            return Reply(await host.add_server(name, _entry(rest)))
        case ["reauth", name]:
            return Reply(await host.sign_in_to_server(name))
        case ["unauth", name]:
            return Reply(await host.sign_out_of_server(name))
        case ["remove" | "rm", name]:
            return Reply(await host.remove_server(name))
        case _:
            raise UsageError(_ADD)


def _entry(words: Sequence[str]) -> dict[str, object]:
    """Read how a server is reached: options, and a command behind `--`. Raises CommandError."""
    at = words.index("--") if "--" in words else len(words)
    options, command = list(words[:at]), list(words[at + 1 :])
    entry: dict[str, object] = {"command": command[0], "args": command[1:]} if command else {}
    tables: dict[str, dict[str, str]] = {"headers": {}, "env": {}}
    while options:
        option = options.pop(0)
        if not options:
            raise CommandError(f"`{option}` needs a value")
        value = options.pop(0)
        match option:
            case "--url" if "url" not in entry:
                entry["url"] = value
            case "--token":
                tables["headers"]["Authorization"] = f"Bearer {value}"
            case "--header" | "--env":
                key, equals, text = value.partition("=")
                if not key or not equals:
                    raise CommandError(f"`{option}` takes a name and a value, as in `{option} NAME=value`")
                tables[_OPTIONS[option]][key] = text
            case _:
                raise CommandError(f"`{option}` is not an option: there are `--url`, `--header`, `--token` and `--env`")
    if ("url" in entry) == ("command" in entry):
        raise UsageError(_ADD)
    if "url" in entry and tables["env"]:
        raise CommandError("`--env` belongs to a command; a server at an address has `--header`")
    if "command" in entry and tables["headers"]:
        raise CommandError("`--header` and `--token` belong to an address; a command has `--env`")
    return entry | {key: table for key, table in tables.items() if table}


SERVERS = (
    Command(
        "mcp",
        "Show the MCP servers with their tools, add or remove one, switch one on or off, or connect again",
        _mcp,
        "[add|remove|enable|disable|reload|logs|reauth|unauth] [server]",
        private_words=_SECRETS,
    ),
)
