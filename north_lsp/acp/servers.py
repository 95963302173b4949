"""Reads the MCP servers that a client passes on, in ACP's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from north_lsp.agent.ports.servers import Channel, ServerSpec
from north_lsp.agent.servers.config import Place, read_entry
from north_lsp.agent.session.session import Session
from north_lsp.display import one_line
from north_lsp.rpc.messages import Params

_SOURCE = "passed on by the editor"
_MOST = 50


def take_servers(session: Session, params: Params, channel: Channel) -> list[str]:
    """Take the servers that come with the opening of a session, beside those that files name: they are started when
    servers are, or with the first prompt. Returns what is wrong with the ones that cannot be started. Those of the
    editor itself are reached over `channel`."""
    specs, problems = read_servers(params.get("mcpServers"), channel)
    session.servers.take(specs)
    return problems


def read_servers(rows: object, channel: Channel) -> tuple[list[ServerSpec], list[str]]:
    """Read the list; what is wrong with single servers is told, and the others are used."""
    if rows is None:
        return [], []
    if not isinstance(rows, list):
        return [], ["the MCP servers that this editor passes on are not a list, so none of them is started"]
    specs: list[ServerSpec] = []
    problems: list[str] = []
    if len(rows) > _MOST:
        problems.append(f"this editor passes on {len(rows)} MCP servers: the first {_MOST} are used")
    for number, row in enumerate(rows[:_MOST], 1):
        if not isinstance(row, Mapping) or not isinstance(row.get("name"), str):
            problems.append(f"the MCP server number {number} that this editor passes on has no name: it is not started")
            continue
        entry = {key: _pairs(value) if key in ("env", "headers") else value for key, value in row.items()}
        # Zed and others name servers as people do.
        name = "".join(one if one.isascii() and (one.isalnum() or one in "_.-") else "-" for one in row["name"])[:100]
        if row.get("type") == "acp":
            spec, warnings = _of_editor(name, row, channel), list[str]()
        else:
            spec, warnings = read_entry(name, entry, Place("client", _SOURCE, "client"))
        problems += [f"the MCP server {spec.name} of this editor: {warning}" for warning in warnings]
        if spec.name in {one.name for one in specs}:
            problems.append(f"the editor passes on two MCP servers called {one_line(spec.name)}; the first one counts")
        else:
            specs.append(spec)
    return specs, problems


def _of_editor(name: str, row: Mapping[str, object], channel: Channel) -> ServerSpec:
    """Read a server that the editor has in itself."""
    id = row.get("serverId", row.get("id"))
    spec = ServerSpec(name, "client", _SOURCE, "acp", channel=channel, digest="acp", via="client")
    if not name:
        return replace(spec, problem="its name is empty")
    if not isinstance(id, str) or not id:
        return replace(spec, problem="its `serverId` must be a string")
    return replace(spec, server_id=id)


def _pairs(value: object) -> object:
    """Turn ACP's lists of names and values into an object; what is not such a list stays as it is, and is refused."""
    if not isinstance(value, list):
        return value
    if not all(isinstance(one, Mapping) and isinstance(one.get("name"), str) for one in value):
        return value
    return {str(one["name"]): one.get("value") for one in value}
