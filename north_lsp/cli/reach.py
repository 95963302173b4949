"""The doctor's look at the network: what requests to models go through, and whether providers accept the keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from north_lsp.cli.finding import Finding
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.credentials import Credential, MissingCredential
from north_lsp.providers.keys.check import KeyProblem, key_problem
from north_lsp.providers.keys.credential_lookup import credential_source, find_key, has_credential
from north_lsp.providers.model import NO_TRANSFORM, ProviderInfo
from north_lsp.providers.tls import verification
from north_lsp.server.options import Options
from north_lsp.storage.switches import is_on

_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
_TRIED = ("anthropic-messages", "openai-responses", "openai-completions", "google-generative-ai")
TO_REACH = "check the network, and HTTPS_PROXY and NORTH_CA_BUNDLE where the editor is started"


def network(options: Options, known: Catalog) -> Iterator[Finding]:
    """Yield what requests to models go through: proxies, certificates, other addresses."""
    environ = options.environ
    if is_on(environ, "NORTH_NO_NETWORK"):
        yield Finding("note", "NORTH_NO_NETWORK is set: North connects to this machine only")
    for name in _PROXIES:
        variable = next((one for one in (name.lower(), name) if environ.get(one)), None)
        if variable is not None:
            yield _proxy(variable, environ[variable])
    try:
        verification(environ)
    except OSError as error:
        yield Finding("error", str(error), "set NORTH_CA_BUNDLE to a PEM file with your company's certificates")
    for provider in known.providers:
        address = environ.get(provider.base_url or "", "").strip()
        if address and not _is_address(address, ("http", "https")):
            text = f"{provider.base_url} is not an address: {_shown(address)!r}"
            yield Finding("error", text, f"set {provider.base_url} to an address like https://example.com, or unset it")


def keys(options: Options, known: Catalog) -> Iterator[Finding]:
    """Yield where each provider's key is, and whether the provider accepts it; all are tried at once."""
    keyed = [provider for provider in known.providers if has_credential(provider, options.environ, known.keys)]
    for provider, problem in zip(keyed, anyio.run(_tried, keyed, options, known), strict=True):
        where = credential_source(provider, options.environ, known.keys) or ""
        base = options.environ.get(provider.base_url or "")
        text = f"{provider.title}: the key is in {where}" + (f", served by {_shown(base)}" if base else "")
        if problem is None:
            yield Finding("ok", text)
        elif problem.is_refused:
            remedy = f"store another key with `north-lsp login {provider.id}`"
            if where in provider.credentials:
                remedy += f", or correct {where} where the editor is started"
            yield Finding("error", f"{text}; {problem}", remedy)
        else:
            yield Finding("warning", f"{text}; {problem}", TO_REACH)
    if not keyed:
        yield Finding(
            "note",
            "no API key was found: the built-in offline model answers, or a model server on this machine",
            "store a key with `north-lsp login`, or set ANTHROPIC_API_KEY (or another provider's variable) in the "
            "environment that starts the editor",
        )


async def _tried(keyed: Sequence[ProviderInfo], options: Options, known: Catalog) -> Sequence[KeyProblem | None]:
    found: list[KeyProblem | None] = [None] * len(keyed)

    async def one(at: int, provider: ProviderInfo) -> None:
        found[at] = await _problem(provider, options, known)

    async with anyio.create_task_group() as tasks:
        for at, provider in enumerate(keyed):
            tasks.start_soon(one, at, provider)
    return found


async def _problem(provider: ProviderInfo, options: Options, known: Catalog) -> KeyProblem | None:
    """Try a provider's key out. Whoever wants more than the key (clouds, gateways with headers of their own) is not
    asked: a refusal would say nothing about the key."""
    is_plain = provider.api in _TRIED and provider.stream is None and provider.transform == NO_TRANSFORM
    if is_on(options.environ, "NORTH_NO_NETWORK") or not is_plain or provider.headers or provider.auth_header:
        return None
    try:
        found: Credential | None = await anyio.to_thread.run_sync(find_key, provider, options.environ, known.keys)
    except MissingCredential as error:
        return KeyProblem(str(error), is_refused=True)
    return await key_problem(provider, found.secret, options.environ) if found is not None else None


def _proxy(variable: str, value: str) -> Finding:
    address = value if "://" in value else f"http://{value}"
    if not _is_address(address, ("http", "https", "socks5", "socks5h")):
        remedy = f"set {variable} to an address like http://proxy.example.com:3128"
        return Finding("error", f"{variable} does not name a proxy", remedy)
    parts = urlsplit(address)
    if parts.scheme.startswith("socks") and find_spec("socksio") is None:
        return Finding("error", f"{variable} names a SOCKS proxy", "install socksio beside North, or use an HTTP proxy")
    return Finding("ok", f"network: requests go through the proxy {parts.hostname} ({variable})")


def _shown(address: str) -> str:
    """Return an address without the name and the password in it: the report is shown to others."""
    login, at, host = address.rpartition("@")
    scheme = f"{login.partition('://')[0]}://" if "://" in login else ""
    return f"{scheme}…@{host}" if at else address


def _is_address(text: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname)
