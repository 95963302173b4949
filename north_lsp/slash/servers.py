"""The command about tool servers (MCP)."""

from collections.abc import Sequence

from north_lsp.slash.base import Command, CommandError, Host, Reply

_USAGE = CommandError(
    "/mcp takes no arguments, or `enable`, `disable` or `logs` with a server's name, or `reload` with or without one"
)


async def _mcp(host: Host, words: Sequence[str]) -> Reply:
    match words:
        case [] | ["list"]:
            return Reply(await host.servers())
        case ["enable" | "disable" as what, name]:
            return Reply(await host.switch_server(name, on=what == "enable"))
        case ["reload" | "reconnect" | "test", *rest] if len(rest) <= 1:
            return Reply(await host.reconnect_servers(rest[0] if rest else None))
        case ["logs", name]:
            return Reply(host.server_log(name))
        case _:
            raise _USAGE


SERVERS = (
    Command(
        "mcp",
        "Show the MCP servers with their tools, switch one on or off, or connect again",
        _mcp,
        "[enable|disable|reload|logs] [server]",
    ),
)
