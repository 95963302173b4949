"""What is kept of requests: a provider that has sent some sends the same bytes as one that has not."""

import json
from typing import Any

import pytest

from north_lsp.providers.adapters.message_cache import KeptTexts
from north_lsp.providers.base import (
    AssistantMessage,
    Image,
    Message,
    ModelRequest,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.providers.adapters.vendors import VENDORS, Vendor
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

PNG = Image("image/png", "iVBORw0KGgo=")


def turn(number: int, calls: int = 2) -> list[Message]:
    """One prompt, with calls, and pictures in every second one; every time new objects."""
    made = [ToolCall(f"c{number}n{at}", "read_file", {"path": "a"}) for at in range(calls)]
    return [
        UserMessage(f"Prompt {number}"),
        AssistantMessage((Text("Looking"), *made), model="m-1"),
        *(ToolResult(call.id, call.name, "text", False, (PNG,) if number % 2 else ()) for call in made),
        AssistantMessage((Text(f"Answer {number}"),), model="m-1"),
    ]


def request(messages: list[Message], conversation: str = "c") -> ModelRequest:
    return ModelRequest("m-1", "Be good.", messages, [], 4000, conversation)


def grown() -> list[list[Message]]:
    """Requests of one conversation, two of each turn, one with more calls than a cache looks back; then of another."""
    history: list[Message] = []
    requests = []
    for number in range(5):
        new = turn(number, 15 if number == 3 else 2)
        requests += [[*history, new[0]], [*history, *new[:-1]]]
        history += new
    return [*requests, [*history, UserMessage("End")], [*turn(7), UserMessage("Another")]]


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
async def test_a_provider_sends_the_same_however_much_it_has_sent(server: ModelServer, vendor: Vendor) -> None:
    histories = grown()
    server.script(*(answer(say("Hello.")) for _ in range(2 * len(histories))))
    one = vendor.make(server.url)
    for messages in histories:
        other = vendor.make(server.url)
        for provider in (one, other):
            assert [event async for event in provider.stream(request(messages))]
        await other.aclose()
        kept, new = (sent.raw for sent in server.requests[-2:])
        assert kept == new
    await one.aclose()


class _Counting:
    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.added = 0

    def add(self, message: Message) -> None:
        self.added += 1
        self.sent.append({"number": self.added})


def test_only_what_is_new_is_added() -> None:
    kept: KeptTexts[_Counting] = KeptTexts()
    messages: list[Message] = [message for number in range(10) for message in turn(number)]
    first = kept.take("c", messages[:-1], _Counting)
    again = kept.take("c", messages, _Counting)
    assert again is first
    assert again.fold.added == len(messages)
    assert [json.loads(text) for text in again.texts()] == again.fold.sent
    # Not in another conversation, and not where the beginning is another one.
    assert kept.take("d", messages, _Counting) is not first
    assert kept.take("c", messages[1:], _Counting) is not first
