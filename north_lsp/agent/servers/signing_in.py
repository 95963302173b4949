"""Has the user sign in to a server, and out again."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.ports.editor import UserInterface
from north_lsp.agent.ports.servers import Connect, ServerSpec
from north_lsp.agent.ports.sign_in_page import SignInPage
from north_lsp.agent.servers.session_servers import Row, SessionServers
from north_lsp.display import one_line
from north_lsp.errors import ToolError


async def sign_in(servers: SessionServers, name: str, editor: UserInterface) -> None:
    """Have the user sign in to a server that may be started. Raises ValueError, OSError, KeyError if there is none of
    that name."""
    connect, spec = _of(servers, name)
    page = SignInPage(editor, "mcp")

    async def show(address: str, hosts: Sequence[str]) -> None:
        what = f"the MCP server {name}, at {', '.join(one_line(host, 300) for host in hosts)}"
        if not await page.show(what, address):
            raise ToolError("REJECTED", "the page to sign in was not opened")

    try:
        await connect.sign_in(spec, show)
    except ToolError as error:
        raise ValueError(error.message.removeprefix("MCP error: ")) from None
    await page.done()


async def sign_out(servers: SessionServers, name: str) -> bool:
    """Forget the sign-in to a server; False if there is none. Raises ValueError, OSError, KeyError."""
    connect, spec = _of(servers, name)
    return await connect.sign_out(spec)


def _of(servers: SessionServers, name: str) -> tuple[Connect, ServerSpec]:
    row: Row | None = next((one for one in servers.rows() if one.spec.name == name and not one.shadowed), None)
    if row is None or servers.connect is None:
        raise KeyError(name)
    if row.server is None:
        raise ValueError(f"the MCP server {one_line(name)} is not started: `/mcp` says why")
    if not row.spec.url and not row.spec.sign_in_url:
        what = "is a program, and its entry has no `oauth` with the `url` at which its users sign in"
        raise ValueError(f"the MCP server {one_line(name)} {what}")
    return servers.connect, row.spec
