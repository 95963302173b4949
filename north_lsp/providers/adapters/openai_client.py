"""The official OpenAI SDK, for both of its APIs. Imported only when it is used: the SDK is heavy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import httpx2

from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Refused
from north_lsp.providers.adapters.lean_import import import_lean
from north_lsp.providers.adapters.wire import Unreachable, refused_in

if TYPE_CHECKING:
    import openai
else:
    openai = import_lean("openai")


class OpenAiClient:
    """One client for a model. It repeats no request on its own."""

    def __init__(
        self,
        connection: Connection,
        query: Mapping[str, str] | None = None,
    ) -> None:
        headers: dict[str, Any] = {
            # Otherwise the SDK would read the user's organization from the environment and send it to any server.
            "OpenAI-Organization": openai.Omit(),
            "OpenAI-Project": openai.Omit(),
        }
        self._headers: dict[str, Any] = {"X-Stainless-Raw-Response": "stream"}
        if connection.secret is None:
            self._headers["Authorization"] = openai.Omit()
        self._sdk = openai.AsyncOpenAI(
            api_key=connection.secret or "none",
            base_url=connection.address,
            max_retries=0,
            default_headers=headers,
            default_query=query,
            timeout=httpx2.Timeout(connection.timeouts.idle, connect=connection.timeouts.connect),
            http_client=connection.http,
        )

    async def post(self, path: str, content: bytes) -> httpx2.Response:
        """Post JSON and return the response with its body unread. Raises Refused, Unreachable."""
        try:
            response: object = await self._sdk.post(
                path,
                cast_to=httpx2.Response,
                content=content,
                options={"headers": self._headers},
            )
        except openai.APIStatusError as error:
            raise Refused(error.status_code, error.response.headers, error.body, error.message) from None
        except openai.APIConnectionError as error:
            if (refused := refused_in(error)) is not None:
                raise refused from None
            raise Unreachable from error
        return cast("httpx2.Response", getattr(response, "http_response", response))

    async def aclose(self) -> None:
        await self._sdk.close()
