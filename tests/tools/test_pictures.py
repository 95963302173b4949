"""Pictures: told in words, and shown to models that take them."""

import struct
from collections.abc import Sequence

import pytest

from north_lsp.agent.images import has_images, with_images
from north_lsp.providers import anthropic, openai_chat, openai_responses
from north_lsp.providers.base import AssistantMessage, Image, Message, ModelRequest, ToolCall, ToolResult, UserMessage
from north_lsp.providers.compat import compat_for
from north_lsp.workspace.pictures import recognise
from tests.tools.conftest import Desk

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 16, 32) + b"rest"


def webp(kind: bytes, rest: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + b"\0\0\0\0" + rest


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (PNG, ("PNG", (16, 32))),
        (b"GIF89a" + struct.pack("<HH", 3, 4), ("GIF", (3, 4))),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08" + struct.pack(">HH", 5, 6), ("JPEG", (6, 5))),
        (b"\xff\xd8\xff", ("JPEG", None)),
        (webp(b"VP8 ", b"\0" * 6 + struct.pack("<HH", 7, 8)), ("WebP", (7, 8))),
        (webp(b"VP8L", b"\x2f" + struct.pack("<I", (9 - 1) | (10 - 1) << 14)), ("WebP", (9, 10))),
        (webp(b"VP8X", b"\0" * 4 + b"\x0a\0\0\x0b\0\0"), ("WebP", (11, 12))),
        (b"\x89PNG", (None, None)),
        (b"", (None, None)),
    ],
)
def test_kinds_and_sides(head: bytes, found: object) -> None:
    assert recognise(head) == found


async def test_a_picture_comes_with_its_bytes(desk: Desk) -> None:
    desk.write({"a.png": PNG, "b.ico": b"\0\0\1\0", "big.png": PNG[:16] + struct.pack(">II", 2001, 1)})
    output = await desk.output("read_file", path="a.png")
    assert [(one.mime_type, one.data) for one in output.pictures] == [("image/png", PNG)]
    assert output.locations[0].path == desk.root / "a.png"
    for path, why in (("b.ico", "models take PNG"), ("big.png", "2000 pixels")):
        output = await desk.output("read_file", path=path)
        assert output.pictures == ()
        assert isinstance(output.data, dict)
        assert why in output.data["meta"]["notices"][0]


CALLED = AssistantMessage((ToolCall("t1", "read_file", {}), ToolCall("t2", "read_file", {})))
SHOWN = ToolResult("t1", "read_file", "a picture", False, (Image("image/png", "blob:sha256:d1"),))
OTHER = ToolResult("t2", "read_file", "text", False)


def request(*messages: Message) -> ModelRequest:
    return ModelRequest("m", "", messages, (), 100)


def results(messages: Sequence[Message]) -> list[tuple[str, tuple[Image, ...]]]:
    return [(one.text, one.images) for one in messages if isinstance(one, ToolResult)]


def test_pictures_are_fetched_for_models_that_take_them() -> None:
    one = request(UserMessage("go"), CALLED, SHOWN, OTHER)
    assert has_images(one)
    assert not has_images(request(UserMessage("go"), CALLED, OTHER))
    seen = with_images(one, {"d1": b"png"}.get, takes_images=True)
    assert results(seen.messages) == [("a picture", (Image("image/png", "cG5n"),)), ("text", ())]
    gone = with_images(one, lambda digest: None, takes_images=True)
    assert results(gone.messages)[0] == ("a picture\n[image unavailable]", ())
    blind = with_images(one, {"d1": b"png"}.get, takes_images=False)
    assert results(blind.messages)[0] == ("a picture\n[image omitted: model has no vision]", ())


def test_every_vendor_gets_pictures_in_its_form() -> None:
    one = with_images(request(UserMessage("go"), CALLED, SHOWN, OTHER), {"d1": b"png"}.get, takes_images=True)
    result = anthropic.request_body(one)["messages"][2]["content"][0]
    source = {"type": "base64", "media_type": "image/png", "data": "cG5n"}
    assert result["content"] == [{"type": "text", "text": "a picture"}, {"type": "image", "source": source}]
    output = openai_responses.request_body(one)["input"][3]["output"]
    url = "data:image/png;base64,cG5n"
    assert output == [
        {"type": "input_text", "text": "a picture"},
        {"type": "input_image", "detail": "auto", "image_url": url},
    ]
    address = "https://api.example.org/v1"
    sent = openai_chat.request_body(one, compat_for(address, {}), address, "m", False)["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[4]["content"][1] == {"type": "image_url", "image_url": {"url": url}}
