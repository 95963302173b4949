"""Pictures: told in words, and shown to models that take them."""

import importlib
import io
import random
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from north_lsp.agent.log.images import has_images, with_images
from north_lsp.providers.adapters import anthropic, openai_chat, openai_responses
from north_lsp.providers.base import AssistantMessage, Image, Message, ModelRequest, ToolCall, ToolResult, UserMessage
from north_lsp.providers.compat import compat_for
from north_lsp.workspace.formats import pictures
from north_lsp.workspace.formats.pictures import recognize
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
    assert recognize(head) == found


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


def drawn(form: str, mode: str, sides: tuple[int, int]) -> bytes:
    saved = io.BytesIO()
    importlib.import_module("PIL.Image").new(mode, sides, 1).save(saved, form)
    return saved.getvalue()


@pytest.mark.parametrize(
    ("form", "mode", "sides", "expected"),
    [
        ("PNG", "RGBA", (2500, 50), ("image/png", ("PNG", (2000, 40)))),
        ("PNG", "P", (50, 2500), ("image/png", ("PNG", (40, 2000)))),
        ("PNG", "1", (2001, 1), ("image/png", ("PNG", (2000, 1)))),
        ("GIF", "P", (2100, 2100), ("image/png", ("PNG", (2000, 2000)))),
        ("JPEG", "RGB", (4000, 2000), ("image/jpeg", ("JPEG", (2000, 1000)))),
        ("JPEG", "CMYK", (2500, 10), ("image/jpeg", ("JPEG", (2000, 8)))),
        ("WEBP", "RGB", (2500, 10), ("image/jpeg", ("JPEG", (2000, 8)))),
    ],
)
async def test_large_pictures_are_scaled_down(
    desk: Desk, form: str, mode: str, sides: tuple[int, int], expected: tuple[str, object]
) -> None:
    name = f"a.{form.lower()}"
    desk.write({name: drawn(form, mode, sides)})
    output = await desk.output("read_file", path=name)
    (picture,) = output.pictures
    assert (picture.mime_type, recognize(picture.data)) == expected
    assert isinstance(output.data, dict)
    assert f"scaled down from {sides[0]} x {sides[1]}" in output.data["meta"]["notices"][0]


def test_what_is_too_heavy_becomes_a_photograph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chance = random.Random(1)
    noise = importlib.import_module("PIL.Image").frombytes("RGB", (300, 300), chance.randbytes(270_000))
    noise.save(tmp_path / "a.png")
    monkeypatch.setattr(pictures, "MAX_BYTES", 200_000)
    large = pictures.load_picture(tmp_path / "a.png")
    assert isinstance(large, pictures.TooLarge)
    loaded = pictures.scaled(large.data, large.sides, large.kind)
    assert loaded is not None
    assert (loaded.mime_type, len(loaded.data) <= 200_000) == ("image/jpeg", True)


async def test_large_pictures_that_cannot_be_scaled_are_told(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> None:
    whole = drawn("PNG", "RGB", (2500, 2500))
    bomb = whole[:16] + struct.pack(">II", 60_000, 60_000) + whole[24:]
    for content, why in ((whole[:2000], "could not be scaled"), (bomb, "2000 pixels a side")):
        desk.write({"a.png": content})
        assert why in (await desk.call("read_file", path="a.png"))["meta"]["notices"][0]
    desk.write({"a.png": whole})
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "pillow" in (await desk.call("read_file", path="a.png"))["meta"]["notices"][0]


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
