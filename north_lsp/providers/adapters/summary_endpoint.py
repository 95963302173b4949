"""A server of the user's that writes summaries (`compaction.remoteEndpoint`): it gets `{"systemPrompt", "prompt"}` and
answers with `{"summary"}`."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import anyio
import httpx2

from north_lsp.providers.adapters.failures import Endpoint, Refused, failed, no_model_server, unreachable
from north_lsp.providers.adapters.wire import refusal
from north_lsp.providers.base import (
    AssistantMessage,
    Done,
    Failed,
    ModelRequest,
    StreamEvent,
    Text,
    TextDelta,
    Timeouts,
    UserMessage,
)

_MOST_BYTES = 1_000_000
_NOTHING = AssistantMessage((), "error")


class SummaryEndpoint:
    """Posts one request, and reads one answer. It needs no key."""

    def __init__(self, endpoint: Endpoint, http: httpx2.AsyncClient, timeouts: Timeouts) -> None:
        self._endpoint = endpoint
        self._http = http
        self._timeouts = timeouts

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        found: str | Failed = failed("network", f"{self._endpoint.title} did not answer in time", _NOTHING)
        with anyio.move_on_after(self._timeouts.request):
            found = await self._asked(request)
        if isinstance(found, Failed):
            yield found
            return
        yield TextDelta(0, found)
        yield Done("stop", AssistantMessage((Text(found),), model=request.model))

    async def _asked(self, request: ModelRequest) -> str | Failed:
        prompt = "\n\n".join(one.text for one in request.messages if isinstance(one, UserMessage))
        sent = {"systemPrompt": request.system, "prompt": prompt}
        try:
            async with self._http.stream("POST", self._endpoint.address, json=sent) as response:
                raw = b""
                async for chunk in response.aiter_bytes():
                    raw += chunk
                    if len(raw) > _MOST_BYTES:
                        return no_model_server(self._endpoint, "more than a megabyte", _NOTHING)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            return unreachable(self._endpoint, str(error) or type(error).__name__, _NOTHING)
        text = raw.decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if response.status_code != 200:
            answered = Refused(response.status_code, response.headers, body, text)
            return refusal(answered, self._endpoint, request.model, _NOTHING)
        summary = body.get("summary") if isinstance(body, dict) else None
        if not isinstance(summary, str) or not summary.strip():
            return no_model_server(self._endpoint, "no `summary`", _NOTHING)
        return summary

    async def aclose(self) -> None:
        await self._http.aclose()
