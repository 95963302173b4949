"""Checks a key with one cheap request: the list of models. The key is sent only to its provider's own address."""

from __future__ import annotations

from collections.abc import Mapping

import anyio
import anyio.to_thread

from north_lsp.display import one_line
from north_lsp.providers.credentials import BEARER_BETA, can_be_sent, is_bearer_token
from north_lsp.providers.model import ProviderInfo
from north_lsp.providers.tls import verification


class KeyProblem(str):
    """Why a key does not seem to work, in one line. `is_refused`: because of the key, not because nobody could be
    asked."""

    is_refused: bool

    def __new__(cls, text: str, *, is_refused: bool) -> KeyProblem:
        problem = super().__new__(cls, text)
        problem.is_refused = is_refused
        return problem


_SECONDS = 10.0
_REFUSED = (401, 403)
_OF_PROXIES = (ValueError, ImportError, ExceptionGroup)
"""What the HTTP client raises for a proxy that it cannot use: of an unknown kind, of SOCKS, at no port."""


async def key_problem(info: ProviderInfo, secret: str, environ: Mapping[str, str]) -> KeyProblem | None:
    """Return one line saying why a key does not seem to work, None if the provider accepts it."""
    if not can_be_sent(secret) or " " in secret:
        told = "not a valid API key: it has spaces, line breaks or other characters that keys do not have"
        return KeyProblem(told, is_refused=True)
    address = info.address_in(environ)
    if address is None or info.stream is not None:
        return None  # no server is known until models.yml names an address, or only an extension speaks its API
    await anyio.to_thread.run_sync(_import_client)
    import httpx2

    try:
        with anyio.fail_after(_SECONDS):
            verify = await anyio.to_thread.run_sync(verification, environ, address)
            async with httpx2.AsyncClient(timeout=_SECONDS, verify=verify) as client:
                answer = await client.get(_url(info, address), headers=_headers(info, secret))
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, OSError, *_OF_PROXIES) as error:
        reason = str(error) or type(error).__name__
        told = f"{info.title} could not be asked whether it accepts this key ({one_line(reason, 200)})"
        return KeyProblem(told, is_refused=False)
    if answer.status_code in _REFUSED or (answer.status_code == 400 and "API_KEY_INVALID" in answer.text[:4000]):
        told = f"{info.title} does not accept this key (it answered {answer.status_code})"
        return KeyProblem(told, is_refused=True)
    return None


def _import_client() -> None:
    import httpx2

    assert httpx2


def _url(info: ProviderInfo, address: str) -> str:
    if info.api == "anthropic-messages":
        return f"{address}/v1/models?limit=1"
    return f"{address}/models" + ("?pageSize=1" if info.api == "google-generative-ai" else "")


def _headers(info: ProviderInfo, secret: str) -> dict[str, str]:
    match info.api:
        case "anthropic-messages":
            version = {"anthropic-version": "2023-06-01"}
            if is_bearer_token(secret):
                return version | {"Authorization": f"Bearer {secret}", "anthropic-beta": BEARER_BETA}
            return version | {"x-api-key": secret}
        case "azure-openai-responses":
            return {"api-key": secret}
        case "google-generative-ai":
            return {"x-goog-api-key": secret}
        case _:
            return {"Authorization": f"Bearer {secret}"}
