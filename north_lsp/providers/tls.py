"""Decides which certificates North trusts, for every request that it makes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


def verification(environ: Mapping[str, str], address: str = "") -> ssl.SSLContext | bool:
    """Return the value of `verify` for HTTP clients, for an address if it is known. Reads a file, so call it on a
    thread. Raises OSError (ssl.SSLError is one) for a `NORTH_CA_BUNDLE` that cannot be used."""
    if address.startswith("http://") and not may_be_proxied():
        return False  # loading certificates takes a while
    bundle = environ.get("NORTH_CA_BUNDLE", "")
    if not bundle:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=os.path.expanduser(bundle))
    except OSError as error:
        raise OSError(f"NORTH_CA_BUNDLE cannot be used: {error.strerror or error}") from error


def may_be_proxied() -> bool:
    """Return whether the environment names a proxy, as the HTTP client reads it: some requests may go through it, and a
    proxy may have a certificate of its own."""
    return any(name.lower() in _PROXIES and value for name, value in os.environ.items())
