"""The vendors' providers, made alike, so that one test can ask all of them."""

from collections.abc import Callable
from dataclasses import dataclass

import httpx2

from north_lsp.providers.adapters.anthropic import AnthropicProvider
from north_lsp.providers.adapters.bedrock_converse import ConverseProvider
from north_lsp.providers.adapters.connection import Connection
from north_lsp.providers.adapters.failures import Endpoint
from north_lsp.providers.adapters.google import GoogleProvider
from north_lsp.providers.adapters.http import HeaderRules, make_client
from north_lsp.providers.adapters.openai_chat import ChatProvider
from north_lsp.providers.adapters.openai_responses import ResponsesProvider
from north_lsp.providers.base import (
    DEFAULT_TIMEOUTS,
    Message,
    ModelRequest,
    Provider,
    StreamEvent,
    Timeouts,
    UserMessage,
)

QUICK = Timeouts(connect=600, idle=0.2, request=3600)


def connection(
    address: str, timeouts: Timeouts = DEFAULT_TIMEOUTS, transport: httpx2.AsyncBaseTransport | None = None
) -> Connection:
    http = make_client(HeaderRules(), timeouts, {}, transport)
    return Connection(Endpoint("The Server", address, "SOME_KEY"), http, "key", timeouts=timeouts)


@dataclass(frozen=True)
class Vendor:
    """`path` is where its stream is asked for; `make` takes an address, timeouts and a transport."""

    name: str
    path: str
    kind: Callable[..., Provider]
    base: str = ""

    def make(
        self, url: str, timeouts: Timeouts | None = None, transport: httpx2.AsyncBaseTransport | None = None
    ) -> Provider:
        return self.kind(connection(url + self.base, timeouts or Timeouts(), transport))


ANTHROPIC = Vendor("anthropic", "/v1/messages", AnthropicProvider)
RESPONSES = Vendor("responses", "/v1/responses", ResponsesProvider, "/v1")
CHAT = Vendor("chat", "/v1/chat/completions", ChatProvider, "/v1")
GOOGLE = Vendor("google", "/v1beta/models/m-1:streamGenerateContent?alt=sse", GoogleProvider, "/v1beta")
CONVERSE = Vendor("converse", "/model/m-1/converse-stream", ConverseProvider)
VENDORS = (ANTHROPIC, RESPONSES, CHAT, GOOGLE, CONVERSE)


async def ask(provider: Provider, request: ModelRequest | None = None) -> list[StreamEvent]:
    question: list[Message] = [UserMessage("Question")]
    try:
        return [event async for event in provider.stream(request or ModelRequest("m-1", "s", question, [], 4000, "c"))]
    finally:
        await provider.aclose()
