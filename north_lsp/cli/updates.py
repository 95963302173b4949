"""The doctor's look for a newer North: one request to PyPI, and only when the user asks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import anyio

from north_lsp import __version__
from north_lsp.cli.finding import Finding
from north_lsp.cli.reach import TO_REACH
from north_lsp.display import one_line
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.tls import verification
from north_lsp.storage.switches import is_on

_ADDRESS = "https://pypi.org/pypi/north-lsp/json"
_SECONDS = 10.0
_MOST_BYTES = 16_000_000
_VERSION = lazy_pattern(r"v?(\d{1,9}(?:\.\d{1,9}){0,5})(.{0,40})")
_OF_PROXIES = (ImportError, ExceptionGroup)
"""What the HTTP client raises, besides ValueError, for a proxy that it cannot use."""


class _Unanswered(Exception):
    """PyPI answered, but not with a version."""


def updates(environ: Mapping[str, str], address: str = _ADDRESS) -> Finding:
    """Ask PyPI for the newest version, and say what is to be done."""
    if is_on(environ, "NORTH_NO_NETWORK"):
        return Finding("note", "NORTH_NO_NETWORK is set: PyPI was not asked for a newer version", "unset it for this")
    import httpx2

    try:
        newest = anyio.run(_newest, environ, address)
    except _Unanswered as error:
        return Finding(
            "warning", f"North could not find out whether there is a newer version: PyPI {error}", "try again later"
        )
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, *_OF_PROXIES) as error:
        reason = one_line(str(error) or type(error).__name__, 200)
        return Finding(
            "warning",
            f"North could not find out whether there is a newer version: PyPI cannot be reached ({reason})",
            TO_REACH,
        )
    if newest is None:
        return Finding("note", "PyPI has no version of North: this one was installed from somewhere else")
    if _order(newest) > _order(__version__):
        remedy = "install it the way in which you installed this one (`north-lsp docs start/install`)"
        return Finding("note", f"there is a newer North: {newest}, this one is {__version__}", remedy)
    return Finding("ok", f"there is no newer North than this one ({__version__}); PyPI has {newest}")


async def _newest(environ: Mapping[str, str], address: str) -> str | None:
    """Return the version that PyPI recommends, None if it does not know North. Nothing is told but the address."""
    import httpx2

    with anyio.fail_after(_SECONDS):
        verify = await anyio.to_thread.run_sync(verification, environ, address)
        async with (
            httpx2.AsyncClient(timeout=_SECONDS, verify=verify) as client,
            client.stream("GET", address, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status_code == 404:
                return None
            if answer.status_code != 200:
                raise _Unanswered(f"answered {answer.status_code}")
            body = b""
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > _MOST_BYTES:
                    raise _Unanswered("sent too long an answer")
    return _version_in(body)


def _version_in(body: bytes) -> str:
    try:
        found = json.loads(body)["info"]["version"]
    except (ValueError, LookupError, TypeError, RecursionError):
        found = None
    if not isinstance(found, str) or _VERSION.fullmatch(found) is None:
        raise _Unanswered("sent something other than a version")
    return found


def _order(version: str) -> tuple[list[int], bool]:
    """Return what orders versions: the numbers, and a final one after those that lead to it."""
    read = _VERSION.fullmatch(version)
    assert read is not None
    numbers = [int(number) for number in read[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers, read[2].startswith((".post", "+")) or not read[2]
