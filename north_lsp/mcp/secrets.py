"""What is secret of what a server is given, so that it can be masked in what the server says. Pure."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.masking import is_secret_name

_SCHEME = lazy_pattern(r"(?:basic|bearer|token) +", re.IGNORECASE)


def secrets_given(spec: ServerSpec) -> Iterator[str]:
    """Yield the secrets among a server's headers and variables, and in its address, as their names tell them."""
    for name, value in (*spec.headers.items(), *spec.env.items(), *_of_query(spec.url)):
        if is_secret_name(name) or name.lower().endswith("key"):
            yield _SCHEME.sub("", value, count=1).strip()


def _of_query(address: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(address).query)
    except ValueError:
        return []
