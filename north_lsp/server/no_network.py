"""`NORTH_NO_NETWORK`: no connection leaves this machine, whichever library opens it."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping

from north_lsp.storage.switches import is_on

VARIABLE = "NORTH_NO_NETWORK"


class NetworkForbidden(OSError):
    """A connection was to be opened although the user has switched the network off."""


def is_forbidden(environ: Mapping[str, str]) -> bool:
    return is_on(environ, VARIABLE)


def forbid() -> None:
    """Have every connection of this process that is not to this machine fail. It cannot be undone."""
    sys.addaudithook(_check)


def _check(event: str, arguments: tuple[object, ...]) -> None:
    match event, arguments:
        case "socket.connect" | "socket.sendto" | "socket.sendmsg", (_, (str(host), *_)):
            _refuse_unless_local(host)
        case "socket.getaddrinfo" | "socket.gethostbyname", (str(host), *_):
            _refuse_unless_local(host)
        case _:
            pass


def _refuse_unless_local(host: str) -> None:
    name = host.rstrip(".").lower()
    try:
        is_local = ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        is_local = name in ("", "localhost") or name.endswith(".localhost")
    if not is_local:
        raise NetworkForbidden(f"{VARIABLE} is set: there is no connection to {host}")
