"""`providers/*`: an editor sends the requests to a provider to an endpoint of its own, or switches a provider off. It
holds for this process; headers are never stored, logged or told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from north_lsp.acp import params as read
from north_lsp.agent.models.model_services import Models
from north_lsp.agent.models.routing import Routing
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call, Handler

_PROTOCOLS: Mapping[str, str] = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai",
    "openai-completions": "openai",
    "google-generative-ai": "google",
}


def provider_route_methods(models: Models) -> dict[str, Handler]:
    """Return the handlers by method name."""
    routing = Routing(models)

    async def listed(params: Params, call: Call) -> object:
        """List the providers, and where their requests go."""
        rows: list[dict[str, Any]] = []
        for info, address in await routing.listed():
            protocol = _PROTOCOLS.get(info.api, f"_{info.api}")
            current = {"current": {"apiType": protocol, "baseUrl": address}} if address is not None else {}
            rows.append({"providerId": info.id, "supported": [protocol], "required": False, **current})
        return {"providers": rows}

    async def set_route(params: Params, call: Call) -> object:
        """Send a provider's requests to `baseUrl`, with `headers` and without any key of the user's."""
        info = provider(params)
        wanted = _PROTOCOLS.get(info.api, f"_{info.api}")
        if read.text(params, "apiType") != wanted:
            raise invalid_params("apiType", f"must be {wanted} for {info.id}")
        await routing.set(info.id, _address(params), _headers(params))
        return {}

    async def disable(params: Params, call: Call) -> object:
        """Let no request go to a provider."""
        id = read.text(params, "providerId")
        if routing.provider(id) is not None:  # one that is not there is off already
            await routing.disable(id)
        return {}

    def provider(params: Params) -> Any:
        found = routing.provider(read.text(params, "providerId"))
        if found is None:
            raise invalid_params("providerId", "must be one of providers/list")
        return found

    return {"providers/list": listed, "providers/set": set_route, "providers/disable": disable}


def _address(params: Params) -> str:
    address = read.text(params, "baseUrl").strip().rstrip("/")
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
    except ValueError:
        is_valid = False
    if not is_valid or not address.isascii() or not address.isprintable():
        raise invalid_params("baseUrl", "must be the http or https address of an endpoint, without a user name")
    return address


def _headers(params: Params) -> dict[str, str]:
    headers = params.get("headers") or {}
    if not isinstance(headers, dict) or not all(_can_be_sent(name, value) for name, value in headers.items()):
        raise invalid_params("headers", "must be an object of names and strings that headers can have")
    return headers


def _can_be_sent(name: str, value: object) -> bool:
    is_name = bool(name) and name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return is_name and isinstance(value, str) and value.isascii() and value.isprintable()
