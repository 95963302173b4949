"""Decides which certificates North trusts, for every request that it makes."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl


def verification(environ: Mapping[str, str], address: str = "") -> "ssl.SSLContext | bool":
    """Return the value of `verify` for HTTP clients, for an address if it is known. Reads a file, so call it on a
    thread. Raises OSError (ssl.SSLError is one) for a `NORTH_CA_BUNDLE` that cannot be used."""
    if address.startswith("http://"):
        return False  # loading certificates takes a while
    bundle = environ.get("NORTH_CA_BUNDLE", "")
    if not bundle:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=os.path.expanduser(bundle))
    except OSError as error:
        raise OSError(f"NORTH_CA_BUNDLE cannot be used: {error.strerror or error}") from error
