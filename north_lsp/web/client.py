"""Asks for one address at a time: a name is resolved once, and the connection goes to what was resolved, so that what
was checked is what is asked. Redirects are returned, not followed."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp import __version__
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.tls import verification
from north_lsp.web.addresses import Target
from north_lsp.web.inflating import ACCEPTED, Inflater, too_large

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 10 * 1024 * 1024
_CONNECT_SECONDS = 10.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_AGENT = f"north-lsp/{__version__}"

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the network addresses of a name. Raises OSError."""


async def resolved(host: str, port: int) -> Sequence[str]:
    """Return the network addresses of a name, as the system knows them. Raises OSError."""
    rows = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(row[4][0]) for row in rows))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered: for a redirect, `location` says where to."""

    status: int
    reason: str
    kind: str
    data: bytes
    location: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WebClient:
    """Makes requests with the certificates and the proxies that the environment names."""

    environ: Mapping[str, str]
    resolve: Resolve = resolved

    def proxy(self, target: Target) -> str:
        """Return the proxy through which a host is reached, empty if it is reached directly."""
        from urllib import request  # heavy

        proxies = request.getproxies_environment()
        passed_by: Callable[..., object] = request.proxy_bypass_environment  # type: ignore[attr-defined]  # undeclared
        if not proxies or passed_by(f"{target.host}:{target.port}", proxies):
            return ""
        return proxies.get(target.scheme) or proxies.get("all") or ""

    async def addresses(self, target: Target) -> Sequence[str]:
        """Return the network addresses of a host. Raises ToolError."""
        if target.address:
            return (target.address,)
        try:
            with anyio.fail_after(_CONNECT_SECONDS):
                found = await self.resolve(target.host, target.port)
        except (OSError, UnicodeError) as error:
            why = one_line(getattr(error, "strerror", None) or str(error) or "no answer in time", 200)
            raise ToolError("REMOTE_ERROR", f"the name {target.host} cannot be resolved: {why}") from None
        if not found:
            raise ToolError("REMOTE_ERROR", f"the name {target.host} has no address")
        return found

    async def get(self, target: Target, addresses: Sequence[str], headers: Mapping[str, str]) -> Answer:
        """Ask for a target at one of its addresses, the first that can be reached; without addresses, through the
        proxy. Raises ToolError."""
        import httpx2

        proxy = "" if addresses else self.proxy(target)
        if not addresses and not proxy:
            raise ToolError("REMOTE_ERROR", f"{target.authority} has no address that may be asked")
        problem = "no answer"
        async with self._client(target, proxy) as client:
            for address in addresses or ("",):
                try:
                    return await self._asked(client, target, address, headers)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    problem = str(error) or type(error).__name__
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    problem = str(error) or type(error).__name__
                    break
        raise ToolError("REMOTE_ERROR", f"{target.authority} cannot be reached: {one_line(problem, 200)}")

    @asynccontextmanager
    async def _client(self, target: Target, proxy: str) -> AsyncIterator[httpx2.AsyncClient]:
        import httpx2

        try:
            verify = await anyio.to_thread.run_sync(verification, self.environ, target.url)
            limits = httpx2.Timeout(None, connect=_CONNECT_SECONDS)
            client = httpx2.AsyncClient(
                verify=verify, timeout=limits, proxy=proxy or None, trust_env=False, follow_redirects=False
            )
        except (OSError, ValueError, ImportError) as error:
            raise ToolError("REMOTE_ERROR", f"the connection cannot be prepared: {one_line(str(error), 300)}") from None
        async with client:
            yield client

    async def _asked(
        self, client: httpx2.AsyncClient, target: Target, address: str, headers: Mapping[str, str]
    ) -> Answer:
        place = Target(target.scheme, address or target.host, target.port, target.path)
        told = {"user-agent": _AGENT, **headers, "host": target.authority, "accept-encoding": ACCEPTED}
        extensions = {"sni_hostname": target.host}
        async with client.stream("GET", place.url, headers=told, extensions=extensions) as response:
            kind = response.headers.get("content-type", "")
            status, reason = response.status_code, one_line(response.reason_phrase, 100)
            if status in _REDIRECTS and (location := response.headers.get("location")):
                return Answer(status, reason, kind, b"", location)
            inflater = Inflater(response.headers.get("content-encoding", ""), MAX_BYTES)
            length = response.headers.get("content-length", "")
            if length.isascii() and length.isdigit() and int(length[:20]) > MAX_BYTES:
                raise too_large(MAX_BYTES)
            async for chunk in response.aiter_raw():
                inflater.feed(chunk)
            return Answer(status, reason, kind, bytes(inflater.data), headers=dict(response.headers))
