"""The steps of a sign-in by OAuth, each a request or two: what a server is called and who signs its users in, North's
registration there, the browser's answer, a token. Knows nothing of where tokens are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2

from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.mcp.posting import can_be_named
from north_lsp.mcp.sign_in_places import Places, covers, is_safe
from north_lsp.mcp.transport import failure

SECONDS = 15.0
"""How long one request may take."""
MAX_BYTES = 256 * 1024
_WAIT_SECONDS = 300.0


@dataclass(frozen=True)
class Signer:
    """The addresses of a sign-in service, as it names them itself."""

    issuer: str
    authorize: str
    token: str
    register: str

    @property
    def addresses(self) -> Sequence[str]:
        return [one for one in (self.authorize, self.issuer, self.token, self.register) if one]


async def resource_of(client: httpx2.AsyncClient, spec: ServerSpec) -> tuple[str, Sequence[str], str]:
    """Ask the server what it is called, who signs users in, and for what scope."""
    home = urlsplit(spec.url)
    origin = f"{home.scheme}://{home.netloc}"
    response = await _sent(client, "POST", spec.url, content=b"{}", headers={"content-type": "application/json"})
    said = response.headers.get("www-authenticate", "")
    named = re.search(r'resource_metadata="([^"]{1,2000})"', said)
    scope = re.search(r'scope="([^"]{1,1000})"', said)
    places = [named[1]] if named and named[1].startswith(f"{origin}/") else []
    places += [f"{origin}/.well-known/oauth-protected-resource{home.path.rstrip('/')}"]
    places += [f"{origin}/.well-known/oauth-protected-resource"]
    for place in dict.fromkeys(places):
        match await _json(client, place):
            case {"resource": str(resource), "authorization_servers": [*signers], **rest}:
                if not covers(resource, spec.url):
                    raise failure(f"its description is that of another resource: {one_line(resource, 200)}")
                scopes = rest.get("scopes_supported")
                listed = " ".join(map(str, scopes)) if isinstance(scopes, list) else ""
                return resource, [one for one in signers if isinstance(one, str)], scope[1] if scope else listed
            case _:
                pass
    if response.status_code != 401:
        raise failure("it does not say that it wants you to sign in")
    return spec.url, [origin], scope[1] if scope else ""


async def signer_of(client: httpx2.AsyncClient, issuers: Sequence[str], spec: ServerSpec, places: Places) -> Signer:
    for issuer in issuers[:3]:
        if not is_safe(issuer, spec):
            continue
        await places.check([issuer])
        home = urlsplit(issuer)
        path = home.path.rstrip("/")
        kinds = ("oauth-authorization-server", "openid-configuration")
        pages = [f"{home.scheme}://{home.netloc}/.well-known/{kind}{path}" for kind in kinds]
        pages += [f"{home.scheme}://{home.netloc}{path}/.well-known/{kinds[1]}"] if path else []
        for place in pages:
            about = await _json(client, place)
            if not isinstance(about, Mapping) or str(about.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
                continue
            known = ("authorization_endpoint", "token_endpoint", "registration_endpoint")
            authorize, token, register = (str(about.get(key) or "") for key in known)
            if not all(is_safe(one, spec) for one in (authorize, token, *([register] if register else []))):
                raise failure(f"an address of {one_line(issuer, 200)} is not one that North signs in at")
            methods = about.get("code_challenge_methods_supported")
            if not isinstance(methods, list) or "S256" not in methods:
                raise failure(f"{one_line(issuer, 200)} does not protect sign-ins by PKCE (S256)")
            await places.check([token, *([register] if register else [])])
            return Signer(str(about["issuer"]), authorize, token, register)
    raise failure("no sign-in service was found for it: put a token into its `headers`")


async def registered(client: httpx2.AsyncClient, signer: Signer, address: str) -> str:
    """Have North registered; returns its id."""
    if not signer.register:
        raise failure(
            "its sign-in does not register new programs: add `oauth` with the `clientId` of one that is registered"
        )
    about = {
        "client_name": "North",
        "redirect_uris": [address],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    response = await _sent(client, "POST", signer.register, json=about)
    match _read(response):
        case {"client_id": str(client_id)} if client_id and response.status_code in (200, 201):
            return client_id
        case _:
            raise failure(f"North could not be registered for its sign-in: {_said(response)}")


async def code_of(wait: Callable[[], Awaitable[Mapping[str, str]]], signer: Signer) -> str:
    """Wait for the answer of the browser; returns its code."""
    with anyio.move_on_after(_WAIT_SECONDS):
        given = await wait()
        if given.get("iss", signer.issuer) != signer.issuer:
            raise failure("the answer to the sign-in comes from somebody else")
        if "error" in given or not given.get("code"):
            why = given.get("error_description") or given.get("error") or "it has no code"
            raise failure(f"the sign-in failed: {one_line(why, 300)}")
        return given["code"]
    raise failure(f"the sign-in timed out after {_WAIT_SECONDS / 60:g} minutes")


async def granted(client: httpx2.AsyncClient, endpoint: str, form: Mapping[str, str]) -> Mapping[str, Any]:
    response = await _sent(client, "POST", endpoint, data=dict(form))
    given = _read(response)
    if response.status_code != 200 or not isinstance(given, Mapping):
        raise failure(f"its sign-in gives no token: {_said(response)}")
    token = given.get("access_token")
    if str(given.get("token_type", "")).lower() != "bearer" or not isinstance(token, str) or not can_be_named(token):
        raise failure("its sign-in gives an unsupported type of token")
    return given


async def _json(client: httpx2.AsyncClient, address: str) -> object:
    response = await _sent(client, "GET", address)
    return _read(response) if response.status_code == 200 else None


async def _sent(client: httpx2.AsyncClient, method: str, address: str, **more: Any) -> httpx2.Response:
    """Send a request and read its answer, which has limits of size and time. Raises ToolError."""
    try:
        with anyio.fail_after(SECONDS):
            async with client.stream(method, address, **more) as response:
                data = b""
                async for chunk in response.aiter_bytes():
                    data += chunk
                    if len(data) > MAX_BYTES:
                        raise failure(f"the answer of {one_line(address, 200)} is too long")
                return httpx2.Response(response.status_code, headers=_plain(response.headers), content=data)
    except TimeoutError:
        raise failure(f"{one_line(address, 200)} has not answered within {SECONDS:g} seconds") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise failure(f"{one_line(address, 200)} cannot be reached: {one_line(str(error), 200)}") from None


def _plain(headers: httpx2.Headers) -> dict[str, str]:
    """Return what counts of headers: the contents are decoded already."""
    return {name: value for name in ("www-authenticate", "content-type") if (value := headers.get(name))}


def _read(response: httpx2.Response) -> object:
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def _said(response: httpx2.Response) -> str:
    match _read(response):
        case {"error_description": str(text)} | {"error": str(text)}:
            return one_line(text, 300)
        case _:
            return f"HTTP {response.status_code}"
