"""Claude on Amazon Bedrock and on Google Vertex AI, through the clients of Anthropic's SDK for them, which know the
errors. The Messages API is the same but for where a model is named, and for what is not there yet (the automatic cache
marker). Imported only for these two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.adapters.anthropic_sdk import bedrock_client, vertex_client
from north_lsp.providers.adapters.aws_event_stream import AwsEventStreamDecoder
from north_lsp.providers.adapters.sse import SseDecoder
from north_lsp.providers.adapters.wire import Decoder
from north_lsp.providers.base import Timeouts

_LEFT_OUT = ("model", "cache_control")


@dataclass(frozen=True, slots=True)
class Cloud:
    """Where and how the Messages API is asked. `path` has a place for the model's id."""

    client: Any
    path: str
    version: str
    streams_by_path: bool
    decoder: Callable[[], Decoder]

    def path_of(self, model: str) -> str:
        return self.path.format(quote(model, safe=":@"))

    def body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request's fields as the cloud takes them."""
        left_out = (*_LEFT_OUT, "stream") if self.streams_by_path else _LEFT_OUT
        return {"anthropic_version": self.version} | {key: value for key, value in body.items() if key not in left_out}


def bedrock(address: str, token: str | None, http: httpx2.AsyncClient, timeouts: Timeouts) -> Cloud:
    """Make the client for Amazon Bedrock; without a bearer `token`, `http` signs the requests."""
    client = bedrock_client()(api_key=token or "none", aws_region="none", base_url=address, **_common(http, timeouts))
    path = "/model/{}/invoke-with-response-stream"
    return Cloud(client, path, "bedrock-2023-05-31", True, AwsEventStreamDecoder)


def vertex(address: str, http: httpx2.AsyncClient, timeouts: Timeouts) -> Cloud:
    """Make the client for Google Vertex AI; `http` puts the token into the requests."""
    client = vertex_client()(
        region="global", project_id="none", access_token="none", base_url=address, **_common(http, timeouts)
    )
    path = "/models/{}:streamRawPredict"
    return Cloud(client, path, "vertex-2023-10-16", False, SseDecoder)


def _common(http: httpx2.AsyncClient, timeouts: Timeouts) -> dict[str, Any]:
    limits = httpx2.Timeout(timeouts.idle, connect=timeouts.connect)
    return {"http_client": http, "max_retries": 0, "timeout": limits, "open_telemetry": False}
