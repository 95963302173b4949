"""Adds servers to the user's own file, and removes them there, for a session that goes by them at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.servers.config import Place, read_entry
from north_lsp.agent.servers.server import Server
from north_lsp.agent.servers.session_servers import SessionServers
from north_lsp.storage.server_file import ServerFile


async def add_server(servers: SessionServers, name: str, entry: Mapping[str, object]) -> tuple[Path, Server | None]:
    """Add a server, and connect to it; returns the file, and the server if it has been started. Raises ValueError,
    OSError."""
    file = ServerFile(servers.locations)
    spec, _ = read_entry(name, entry, Place("user", file.path.name))
    if spec.problem:
        raise ValueError(f"the MCP server {spec.name} cannot be used: {spec.problem}")
    for row in servers.rows():
        if row.spec.name == name and row.spec.origin != "project":
            raise ValueError(f"there is an MCP server {name} already ({row.spec.source}): choose another name")
    await anyio.to_thread.run_sync(file.add, name, entry)
    await servers.refresh()
    server = next((row.server for row in servers.rows() if row.spec.name == name and row.server is not None), None)
    if server is not None:
        with anyio.move_on_after(server.spec.seconds):
            await server.settled.wait()
    return file.path, server


async def remove_server(servers: SessionServers, name: str) -> Path:
    """Remove a server; returns the file. Raises ValueError, OSError, KeyError if there is none of that name."""
    file = ServerFile(servers.locations)
    if not await anyio.to_thread.run_sync(file.remove, name):
        for row in servers.rows():
            if row.spec.name == name:
                where = f"the MCP server {name} is named in {row.spec.source}"
                raise ValueError(f"{where}: remove it there, or switch it off with `/mcp disable {name}`")
        raise KeyError(name)
    await servers.refresh()
    return file.path
