"""The HTTP client of a sign-in: where each request leads is checked, and the connection is made to the network address
that was checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import anyio.to_thread
import httpx2

from north_lsp import __version__
from north_lsp.mcp.sign_in_places import Places
from north_lsp.mcp.transport import failure
from north_lsp.providers.tls import verification
from north_lsp.web.addresses import Target, target

Carry = Callable[[str, str], Awaitable[httpx2.AsyncBaseTransport]]
"""Makes what carries requests of a scheme, through a proxy if one is named."""


class CheckedTransport(httpx2.AsyncBaseTransport):
    """Carries the requests of one sign-in. Raises ToolError for a request that must not be made."""

    def __init__(self, places: Places, carry: Carry) -> None:
        self._places = places
        self._carry = carry
        self._carriers: dict[tuple[str, str], httpx2.AsyncBaseTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        at = target(str(request.url))
        addresses = await self._places.addresses(at)
        carrier = await self._carrier(at.scheme, "" if addresses else self._places.proxy(at))
        if not addresses:
            return await carrier.handle_async_request(request)
        problem: httpx2.TransportError | None = None
        for address in addresses:
            try:
                return await carrier.handle_async_request(_sent_to(address, at, request))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                problem = error
        raise problem or httpx2.ConnectError("it has no address")

    async def aclose(self) -> None:
        for carrier in self._carriers.values():
            await carrier.aclose()

    async def _carrier(self, scheme: str, proxy: str) -> httpx2.AsyncBaseTransport:
        if (scheme, proxy) not in self._carriers:
            self._carriers[scheme, proxy] = await self._carry(scheme, proxy)
        return self._carriers[scheme, proxy]


def _sent_to(address: str, at: Target, request: httpx2.Request) -> httpx2.Request:
    """Return a request for a network address; the host is named in its headers, and for the certificate."""
    return httpx2.Request(
        request.method,
        Target(at.scheme, address, at.port, at.path).url,
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": at.host},
    )


def carried_by(environ: Mapping[str, str]) -> Carry:
    """Return what makes real connections. It raises ToolError."""

    async def carry(scheme: str, proxy: str) -> httpx2.AsyncBaseTransport:
        try:
            verify = await anyio.to_thread.run_sync(verification, environ, f"{scheme}://")
            return httpx2.AsyncHTTPTransport(verify=verify, proxy=proxy or None)
        except (OSError, ValueError, ImportError) as error:
            raise failure(f"its connection cannot be prepared: {error}") from None

    return carry


@asynccontextmanager
async def sign_in_client(places: Places, carry: Carry, seconds: float) -> AsyncIterator[httpx2.AsyncClient]:
    """Make a client that knows none of the server's headers: they are for nobody else."""
    headers = {"user-agent": f"north-lsp/{__version__}", "accept": "application/json"}
    async with httpx2.AsyncClient(
        headers=headers, timeout=seconds, transport=CheckedTransport(places, carry), follow_redirects=False
    ) as client:
        yield client
