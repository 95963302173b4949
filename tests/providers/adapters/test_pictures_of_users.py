"""Pictures that a user sends reach every vendor in its form, and none of the vendors refuses the request."""

import base64
import json

import pytest

from north_lsp.providers.base import AssistantMessage, Done, Image, Message, ModelRequest, Text, UserMessage
from tests.providers.adapters.vendors import ANTHROPIC, CHAT, GOOGLE, VENDORS, Vendor, ask
from tests.support.model_server import ModelServer
from tests.support.png import png
from tests.support.script import answer, say

PICTURE = Image("image/png", base64.b64encode(png()).decode())
GIF = Image("image/gif", base64.b64encode(b"GIF89a\1\0\1\0\0\0\0;").decode())


async def sent(vendor: Vendor, server: ModelServer, *messages: Message) -> str:
    server.script(answer(say("Hi")))
    events = await ask(vendor.make(server.url), ModelRequest("m-1", "s", messages, [], 4000, "c"))
    assert isinstance(events[-1], Done), events[-1]
    return json.dumps(server.requests[-1].body)


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda one: one.name)
async def test_a_picture_goes_with_the_words(vendor: Vendor, server: ModelServer) -> None:
    body = await sent(vendor, server, UserMessage("What is this?", (PICTURE,)))
    assert PICTURE.data in body
    assert "What is this?" in body


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda one: one.name)
async def test_pictures_without_words_in_the_middle_of_a_conversation(vendor: Vendor, server: ModelServer) -> None:
    said = AssistantMessage((Text("A square."),), model="m-1")
    body = await sent(vendor, server, UserMessage("", (PICTURE, PICTURE)), said, UserMessage("And this?", (PICTURE,)))
    assert body.count(PICTURE.data) == 3
    assert '""' not in body.split('"tools"')[0]


@pytest.mark.parametrize("pictures", [(PICTURE,), ()])
async def test_neighbouring_messages_are_one_for_templates_that_want_turns(
    server: ModelServer, pictures: tuple[Image, ...]
) -> None:
    await sent(CHAT, server, UserMessage("One", (PICTURE,)), UserMessage("Two", pictures))
    (message,) = [one for one in server.requests[-1].body["messages"] if one["role"] == "user"]
    assert [part["text"] for part in message["content"] if part["type"] == "text"] == ["One", "Two"]


async def test_pictures_come_before_the_words_where_vendors_ask_for_that(server: ModelServer) -> None:
    await sent(ANTHROPIC, server, UserMessage("What?", (PICTURE,)))
    assert [part["type"] for part in server.requests[-1].body["messages"][0]["content"]] == ["image", "text"]


async def test_a_kind_that_a_vendor_does_not_take_is_told(server: ModelServer) -> None:
    body = await sent(GOOGLE, server, UserMessage("What?", (GIF,)))
    assert GIF.data not in body
    assert "image omitted" in body
