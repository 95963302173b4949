"""To which addresses a sign-in may lead, and which of them a server speaks for."""

from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from north_lsp.agent.ports.servers import ServerSpec
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


async def check_places(web: WebClient, spec: ServerSpec, addresses: Sequence[str]) -> None:
    """Check where a sign-in would lead: on the public internet, or where the server itself is, so that no server has
    North ask around in the user's network. Raises ToolError."""
    server = urlsplit(spec.url)
    here = await _place(web, target(f"{server.scheme}://{server.netloc.rpartition('@')[2]}/"))
    for at in map(target, addresses):
        place = await _place(web, at)
        if place and place != here:
            raise failure(
                f"its sign-in leads to {place} ({at.authority}), where the server is not",
                "if you trust it, put a token into its `headers`",
            )


async def _place(web: WebClient, at: Target) -> str:
    """Say where an address leads if not to the public internet. Names that a proxy looks up are the proxy's matter."""
    return "" if web.proxy(at) and not at.address else not_public(await web.addresses(at))


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
