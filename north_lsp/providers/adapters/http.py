"""The HTTP client that a vendor's SDK uses. Imported only when a provider is made: it is heavy."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

import httpx2

from north_lsp import __version__
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Timeouts
from north_lsp.providers.tls import verification

USER_AGENT = f"north-lsp/{__version__}"


@dataclass(frozen=True, slots=True)
class HeaderRules:
    """How a request's headers are changed: first `add`, then `strip` (names, `prefix*`), then `put` (None removes)."""

    add: Mapping[str, str] = field(default_factory=dict)
    strip: tuple[str, ...] = ()
    put: Mapping[str, str | None] = field(default_factory=dict)

    def apply(self, headers: httpx2.Headers) -> None:
        for name, value in self.add.items():
            headers[name] = value
        for rule in self.strip:
            wanted = rule.lower()
            for name in list(headers):
                if name == wanted or (wanted.endswith("*") and name.startswith(wanted[:-1])):
                    headers.pop(name, None)
        for name, put in self.put.items():
            if put is None:
                headers.pop(name, None)
            else:
                headers[name] = put


def make_client(
    rules: HeaderRules,
    timeouts: Timeouts,
    environ: Mapping[str, str],
    transport: httpx2.AsyncBaseTransport | None = None,
    address: str = "",
    sign: Callable[[httpx2.Request], Awaitable[None]] | None = None,
) -> httpx2.AsyncClient:
    """Make the client for one model, which is served at `address`; `sign` puts the credential into each request. It
    follows no redirects, because a key is for the host that the user has named. Raises OSError for a `NORTH_CA_BUNDLE`
    that cannot be used."""

    async def add_headers(request: httpx2.Request) -> None:
        request.headers["user-agent"] = USER_AGENT
        rules.apply(request.headers)

    hooks = [add_headers] if sign is None else [sign, add_headers]
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(timeouts.idle, connect=timeouts.connect),
        follow_redirects=False,
        event_hooks={"request": hooks},
        verify=verification(environ, address),
        transport=transport,
    )
