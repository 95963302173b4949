"""Requests are masked once: what was sent before is the same object in the next request."""

from dataclasses import replace

from north_lsp.agent.secrets.masked_pool import RequestMask
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.secrets.sources import Found
from north_lsp.providers.base import Message, ModelRequest, ToolSpec, UserMessage

SECRET = "tok-9f8e7d6c5b"


class Known:
    has_news = False

    def read(self) -> Found:
        return Found(frozenset({SECRET}))


def spec(description: str) -> ToolSpec:
    """Describe a tool anew, as is done for each request."""
    return ToolSpec("read_file", description, {"properties": {"path": {"default": f"{SECRET}.txt"}}})


def request(messages: list[Message], tool: ToolSpec) -> ModelRequest:
    return replace(ModelRequest("m", f"Key: {SECRET}", messages, (tool,), 100), conversation_id="c1")


def test_a_message_and_a_tool_are_masked_once() -> None:
    mask = RequestMask(Secrets(Known(), lambda: b"key", lambda: True))
    messages: list[Message] = [UserMessage(f"I use {SECRET}")]
    first = mask.masked(request(messages, spec("Reads.")))
    assert SECRET not in repr(first)
    second = mask.masked(request([*messages, UserMessage("again")], spec("Reads.")))
    assert second.messages[0] is first.messages[0]
    assert second.tools[0] is first.tools[0]


def test_a_tool_that_is_described_differently_is_masked_again() -> None:
    mask = RequestMask(Secrets(Known(), lambda: b"key", lambda: True))
    mask.masked(request([], spec("Reads.")))
    assert mask.masked(request([], spec(f"Reads {SECRET}."))).tools[0].description == "Reads <<$env:S0>>."


def test_a_message_that_was_read_from_the_log_again_is_the_same_object_again() -> None:
    mask = RequestMask(Secrets(Known(), lambda: b"key", lambda: True))
    first = mask.masked(request([UserMessage(f"I use {SECRET}"), UserMessage("plain")], spec("Reads.")))
    again: list[Message] = [UserMessage(f"I use {SECRET}"), UserMessage("other"), UserMessage("new")]
    second = mask.masked(request(again, spec("Reads.")))
    assert second.messages[0] is first.messages[0]
    assert second.messages[1:] == again[1:]
