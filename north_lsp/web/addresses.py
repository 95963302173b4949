"""Which host an address means, and which of its network addresses are on the public internet."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator
from dataclasses import field
from ipaddress import IPv4Address, IPv6Address

from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8000
_NOT_IN_ADDRESS = lazy_pattern(r"[\x00-\x20\x7f\\]")
_HOST = lazy_pattern(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?|[0-9a-f:.]+")
_NUMBER = lazy_pattern(r"(0x[0-9a-f]*|[0-9]+)\.?")

METADATA = frozenset(
    {
        "169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
        "fd20:ce::254",
    }
)  # fmt: skip
"""Where machines of a cloud are told their credentials."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_RESERVED = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "100:0:0:1::/64", "3fff::/20", "5f00::/16"),
    )
)
"""What IANA lists as not reachable from everywhere, and the tables of some Pythons do not have."""


@dataclass(frozen=True, slots=True)
class Target:
    """An address to ask for. `host` is a name in ASCII or a network address, `path` all that follows the host;
    `written` is the address as it was given, in which a host can have capitals."""

    scheme: str
    host: str
    port: int
    path: str
    written: str = field(default="", compare=False)

    @property
    def authority(self) -> str:
        """The host as people know it, with its port unless that is the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def approved_as(self) -> str:
        """What an approval of the host is kept under: its authority, with the scheme unless that is https."""
        return self.authority if self.scheme == "https" else f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def address(self) -> str:
        """The network address that the host is, however it is written; empty for a name."""
        return _literal(self.host)

    def joined(self, location: str) -> Target:
        """Return where a redirect leads. Raises ToolError."""
        from urllib.parse import urljoin

        return target(urljoin(self.url, location.strip()))


def target(text: str) -> Target:
    """Read an address. Raises ToolError for one that is not fetched."""
    import httpx2

    text = text.strip()
    shown = one_line(text, 200)
    if len(text) > _LONGEST:
        raise ToolError("INVALID_INPUT", f"the address has {len(text)} characters; at most {_LONGEST} are accepted")
    if _NOT_IN_ADDRESS.search(text):
        raise ToolError("INVALID_INPUT", f"{shown} has characters that an address cannot have", "write them as %XX")
    try:
        url = httpx2.URL(text)
        host, port = url.raw_host.decode("ascii").lower().rstrip("."), url.port
        if port is not None and not 0 < port < 65536:
            raise ValueError(f"there is no port {port}")
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolError("INVALID_INPUT", f"{shown} is not an address: {error}") from None
    if url.scheme not in _PORTS:
        hint = "give the whole address, beginning with https://"
        raise ToolError("INVALID_INPUT", f"{shown} is not an http or https address", hint)
    if url.userinfo:
        raise ToolError("INVALID_INPUT", "addresses with a user name or a password are not fetched", "leave them out")
    host = host.strip("[]")
    if not _HOST.fullmatch(host):
        raise ToolError("INVALID_INPUT", f"{shown} names no host that can be asked")
    _literal(host)
    return Target(url.scheme, host, port or _PORTS[url.scheme], url.raw_path.decode("ascii"), text)


def _literal(host: str) -> str:
    """Return the network address that a host is, in its usual form; empty for a name. The system reads `127.1`,
    `2130706433`, `0x7f000001` and `0177.0.0.1` as addresses, too. Raises ToolError."""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    if ":" not in host and not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return ""
    try:
        return str(IPv4Address(socket.inet_aton(host)))
    except (OSError, ValueError):
        raise ToolError("INVALID_INPUT", f"{one_line(host, 100)} is neither a host's name nor an address") from None


def not_public(addresses: Iterable[str]) -> str:
    """Say where addresses lead if not all of them are on the public internet; empty if they are."""
    found = (_place(address) for address in addresses)
    return next((place for place in found if place), "")


def _place(address: str) -> str:
    try:
        given = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "an unknown place"
    for one in _meant(given):
        if str(one) in METADATA:
            return "the metadata service of a cloud machine, which gives out credentials"
        if one.is_loopback or one.is_unspecified:
            return "this machine"
        if one.is_link_local:
            return "a link-local address"
        if not one.is_global or one.is_multicast or one.is_reserved or any(one in range for range in _RESERVED):
            return "a private or reserved network"
        if isinstance(one, IPv6Address) and one.is_site_local:
            return "a private or reserved network"
    return ""


def _meant(given: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    """Yield an address with every IPv4 address that it stands for."""
    if isinstance(given, IPv4Address):
        yield given
        return
    if given in _NAT64:
        yield IPv4Address(int(given) & 0xFFFFFFFF)
        return
    if (mapped := given.ipv4_mapped) is not None:
        yield mapped
        return
    yield given
    if (through := given.sixtofour) is not None:
        yield through
    if (tunnel := given.teredo) is not None:
        yield from tunnel
