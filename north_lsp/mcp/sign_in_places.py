"""To which addresses a sign-in may lead, and which of them a server speaks for."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.mcp.transport import failure
from north_lsp.web.addresses import Target, not_public, target
from north_lsp.web.client import WebClient

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ADDRESS = lazy_pattern(r"[!-~]{1,2000}")
_PORTS = {"http": 80, "https": 443}


def is_safe(address: str, spec: ServerSpec) -> bool:
    """Tell whether a sign-in may lead to an address: by https, or on this machine if the server is here, too."""
    if not _ADDRESS.fullmatch(address):
        return False
    try:
        there, here = urlsplit(address), urlsplit(spec.url)
    except ValueError:
        return False
    local = there.scheme == "http" and there.hostname in _LOOPBACK and here.hostname in _LOOPBACK
    return bool(there.hostname) and (there.scheme == "https" or local)


class Places:
    """Where a sign-in to one server may lead: to the public internet, or where the server itself is, so that no server
    has North ask around in the user's network. A name is looked up once, and counts as it was then."""

    def __init__(self, web: WebClient, spec: ServerSpec) -> None:
        server = urlsplit(spec.url)
        self._web = web
        self._server = target(f"{server.scheme}://{server.netloc.rpartition('@')[2]}/")
        self._named = spec.sign_in_hosts
        self._found: dict[tuple[str, int], Sequence[str]] = {}

    async def check(self, addresses: Sequence[str]) -> None:
        """Check where a sign-in would lead. Raises ToolError."""
        for at in map(target, addresses):
            await self.addresses(at)

    async def addresses(self, at: Target) -> Sequence[str]:
        """Return the network addresses that may be asked for a host; none if a proxy is to be asked. Raises
        ToolError."""
        proxied = bool(self._web.proxy(at))
        if at.host != self._server.host and not (proxied and at.host in self._named):
            place = not_public(await self._known(at))
            if place and place != await self._place_of_server():
                raise failure(
                    f"its sign-in is at {place} ({at.authority}), but the server is not",
                    "if you trust it, put a token into its `headers`",
                )
        return () if proxied else await self._looked_up(at)

    def proxy(self, at: Target) -> str:
        """Return the proxy through which a host is reached, empty if it is reached directly."""
        return self._web.proxy(at)

    async def _known(self, at: Target) -> Sequence[str]:
        """Look up a host. What only a proxy can look up could be anywhere."""
        try:
            return await self._looked_up(at)
        except ToolError:
            if not self._web.proxy(at):
                raise
        raise failure(
            f"its sign-in is at {at.authority}, and only the proxy knows where that is: if you trust that host, "
            f'write `"oauth": {{ "hosts": ["{at.host}"] }}` into its entry in your own file'
        )

    async def _place_of_server(self) -> str:
        try:
            return not_public(await self._looked_up(self._server))
        except ToolError:
            if not self._web.proxy(self._server):
                raise
            return ""

    async def _looked_up(self, at: Target) -> Sequence[str]:
        key = at.host, at.port
        if key not in self._found:
            self._found[key] = await self._web.addresses(at)
        return self._found[key]


def hosts(addresses: Sequence[str]) -> Sequence[str]:
    """Return the hosts of addresses, each once, for people. Raises ToolError."""
    return tuple(dict.fromkeys(target(address).authority for address in addresses))


def covers(resource: str, address: str) -> bool:
    """Tell whether an address belongs to a resource: the same scheme, host and port, and a path that is below, part by
    part."""
    if not _ADDRESS.fullmatch(resource):
        return False
    try:
        whole, part = urlsplit(resource), urlsplit(address)
        if not whole.hostname or "@" in whole.netloc or whole.fragment or _home(whole) != _home(part):
            return False
    except ValueError:
        return False
    above, below = whole.path.rstrip("/").split("/"), part.path.split("/")
    return below[: len(above)] == above and whole.query in ("", part.query)


def _home(address: SplitResult) -> tuple[str, str | None, int | None]:
    return address.scheme, address.hostname, address.port or _PORTS.get(address.scheme)
