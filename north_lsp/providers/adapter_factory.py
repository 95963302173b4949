"""Makes the provider for a model that is served over the network. Imports the vendor's SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import httpx2

from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Endpoint
from north_lsp.providers.adapters.http import HeaderRules, make_client
from north_lsp.providers.base import Provider, Timeouts
from north_lsp.providers.catalog.catalog import catalog
from north_lsp.providers.clouds import (
    AZURE,
    BEDROCK,
    CLAUDE_ON_VERTEX,
    CONVERSE,
    ON_BEDROCK,
    VERTEX,
    azure_query,
    region_at,
    what_to_set,
)
from north_lsp.providers.compat import compat_for, serves_tiers
from north_lsp.providers.credentials import Credential, MissingCredential, can_be_sent
from north_lsp.providers.keys.credential_lookup import find_credential, rotating_keys
from north_lsp.providers.keys.noted_use import NotedProvider
from north_lsp.providers.keys.rotation import RotatingProvider
from north_lsp.providers.keys.routes import Route
from north_lsp.providers.keys.sources import NO_KEYS, SIGN_IN, Keys, as_credential
from north_lsp.providers.model import NO_EXTRAS, Extras, Model, ProviderInfo

_GOOGLES = "Google Cloud's credentials"
_HELD = {VERTEX: _GOOGLES, CLAUDE_ON_VERTEX: _GOOGLES, BEDROCK: "AWS", CONVERSE: "AWS"}
"""Who has the credentials where North has no key, for people."""


def make_remote(
    model: Model, environ: Mapping[str, str], timeouts: Timeouts, keys: Keys = NO_KEYS, extras: Extras = NO_EXTRAS
) -> Provider:
    """Make the adapter for a model's API, with its credential, headers and extra body fields; where several keys are
    stored for the provider, one for each, which take turns.

    Raises MissingCredential if there is no address, no key, or a value that cannot be sent in a header.
    """
    several = rotating_keys(model.provider, environ, keys)
    if several:
        return RotatingProvider(
            model.provider.title,
            several,
            keys.resting,
            lambda key: NotedProvider(_make(model, environ, timeouts, keys, extras, as_credential(key)), key, keys),
        )
    key = find_credential(model, environ, keys)
    about = model.provider.sign_in
    if about is not None and key is not None and key.source == SIGN_IN:
        from north_lsp.providers.keys.signed_in import SignedInProvider

        make = partial(_make, model, environ, timeouts, keys, extras)
        return SignedInProvider(model.provider, about, keys, environ, make)
    made = _make(model, environ, timeouts, keys, extras, key)
    stored = next((one for one in keys.stored_of(model.provider.id) if as_credential(one) == key), None)
    return made if stored is None else NotedProvider(made, stored, keys)


def make_summary_endpoint(model: Model, environ: Mapping[str, str], timeouts: Timeouts) -> Provider:
    """Make what asks the user's own server for summaries."""
    from north_lsp.providers.adapters.summary_endpoint import SummaryEndpoint

    address = model.provider.address or ""
    http = make_client(HeaderRules(), timeouts, environ, address=address)
    return SummaryEndpoint(Endpoint(model.provider.title, address, ""), http, timeouts)


def _is_vendors(info: ProviderInfo, address: str) -> bool:
    """Tell whether an address is the one that North comes with, and not on this machine."""
    shipped = [one for one in catalog().providers if one.id == info.id and not info.keyless]
    return any(address in (one.address, one.anthropic_address) for one in shipped)


def _make(
    model: Model,
    environ: Mapping[str, str],
    timeouts: Timeouts,
    keys: Keys,
    extras: Extras,
    key: Credential | None,
) -> Provider:
    info = model.provider
    route = keys.routes.find(info.id)
    key = key if route is None else None
    address = route.address if route is not None else model.address or info.address_in(environ)
    if address is None:
        how = what_to_set(info.api) or f"set baseUrl of {info.id} in models.yml"
        raise MissingCredential(f"{model.title} has no address: {how}")
    secret = key.secret if key is not None else None
    api = model.api or info.api
    put = {**info.transform.put, **model.transform.put}
    rules = HeaderRules(_headers(model, environ, route, key), model.transform.strip or info.transform.strip, put)
    if info.stream is not None:
        from north_lsp.providers.catalog.extensions import ExtensionProvider, Server

        server = Server(address, secret, _headers(model, environ, route, key))
        return ExtensionProvider(partial(info.stream, server=server), info.title)
    # An editor's endpoint gets no credential of the user's.
    sign = _signer(api, environ, address, rules) if secret is None and route is None else None
    http = make_client(rules, timeouts, environ, address=address, sign=sign)
    holder = key.source if key is not None else _HELD.get(api, "") if route is None else ""
    connection = Connection(
        Endpoint(info.title, address, holder, is_vendors=_is_vendors(info, address)),
        http,
        secret,
        model.wire_id,
        {**_tier(model, address, extras), **info.transform.body, **model.transform.body},
        timeouts,
    )
    match api:
        case "anthropic-messages":
            from north_lsp.providers.adapters.anthropic import AnthropicProvider

            is_token = key is not None and key.is_token
            return AnthropicProvider(connection, is_token=is_token, long_cache=extras.long_cache)
        case "anthropic-bedrock" | "anthropic-vertex":
            from north_lsp.providers.adapters import anthropic_clouds
            from north_lsp.providers.adapters.anthropic import AnthropicProvider

            if api == BEDROCK:
                cloud = anthropic_clouds.bedrock(address, secret, http, timeouts)
            else:
                cloud = anthropic_clouds.vertex(address, http, timeouts)
            return AnthropicProvider(connection, cloud=cloud)
        case "openai-responses" | "azure-openai-responses":
            from north_lsp.providers.adapters.openai_responses import ResponsesProvider

            strict = compat_for(address, {**info.compat, **model.compat}).strict_tools
            query = azure_query(environ) if api == AZURE else None
            return ResponsesProvider(connection, strict_tools=strict, query=query)
        case "bedrock-converse-stream":
            from north_lsp.providers.adapters.bedrock_converse import ConverseProvider

            compat = compat_for(address, {**info.compat, **model.compat})
            return ConverseProvider(connection, compat=compat, note=extras.note)
        case "google-generative-ai" | "google-vertex":
            from north_lsp.providers.adapters.google import GoogleProvider

            return GoogleProvider(connection, reasons=model.thinking is not None)
        case _:
            from north_lsp.providers.adapters.openai_chat import ChatProvider

            compat = compat_for(address, {**info.compat, **model.compat})
            reasons = model.thinking is not None
            return ChatProvider(connection, compat=compat, reasons=reasons, note=extras.note)


def _headers(model: Model, environ: Mapping[str, str], route: Route | None, key: Credential | None) -> dict[str, str]:
    """Return the headers of each request. An endpoint of the editor's gets its headers alone. Raises
    MissingCredential."""
    info = model.provider
    if key is not None:
        _check(key.secret, key.source)
    if route is not None:
        headers = dict(route.headers)
    else:
        sources = {**info.headers, **model.headers}
        headers = {name: source.resolve(environ).secret for name, source in sources.items()}
    for name, value in headers.items():
        _check(value, f"the header {name} of {info.id}")
    if key is None:
        return headers
    api = model.api or info.api
    if info.auth_header or api == CLAUDE_ON_VERTEX:
        headers["Authorization"] = f"Bearer {key.secret}"
    if api == AZURE:
        headers["api-key"] = key.secret
    return headers


def _signer(
    api: str, environ: Mapping[str, str], address: str, rules: HeaderRules
) -> Callable[[httpx2.Request], Awaitable[None]] | None:
    """Return what puts a cloud's own credentials into requests, None for an API without. Raises MissingCredential, also
    for changes that would make a signature wrong."""
    if api in (VERTEX, CLAUDE_ON_VERTEX):
        from north_lsp.providers.adapters.vertex_token import VertexToken

        return VertexToken(environ).sign
    # A gateway may sign requests itself.
    if api not in ON_BEDROCK or environ.get("AWS_BEDROCK_SKIP_AUTH", "").strip() == "1":
        return None
    if rules.strip or rules.put:
        raise MissingCredential(
            "requestTransform cannot strip or set headers of requests that are signed: remove it, or set "
            "AWS_BEARER_TOKEN_BEDROCK"
        )
    from north_lsp.providers.adapters.aws_signature import AwsSignature

    return AwsSignature(environ, region_at(address, environ)).sign


def _tier(model: Model, address: str, extras: Extras) -> dict[str, object]:
    if extras.service_tier is None or not serves_tiers(address, model.api or model.provider.api):
        return {}
    return {"service_tier": extras.service_tier}


def _check(value: str, source: str) -> None:
    if not can_be_sent(value):
        raise MissingCredential(f"{source} has characters that cannot be sent: check it")
