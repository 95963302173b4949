"""What servers answer is read within limits, whatever it is."""

import base64
from typing import Any

import pytest

from north_lsp.mcp.content import read_answer, read_contents, read_messages, read_tools
from tests.support.mcp_server import PNG


def picture(data: str = PNG) -> dict[str, Any]:
    return {"type": "image", "data": data, "mimeType": "image/png"}


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


async def test_an_answer_has_a_limited_number_of_parts() -> None:
    answer = await read_answer({"content": [{"type": "text", "text": "a"}] * 5000})
    assert answer.text.count("a\n") == 1000
    assert answer.text.endswith("[4000 more parts of the answer are left out: it may have 1000]")


async def test_images_that_are_none_count_as_well() -> None:
    damaged = picture(base64.b64encode(b"no image").decode())
    answer = await read_answer({"content": [damaged] * 10 + [picture()] * 2})
    assert answer.pictures == ()
    assert answer.text.count("at most 10 images") == 2
    assert len((await read_answer({"content": [damaged] * 9 + [picture()]})).pictures) == 1


@pytest.mark.parametrize("text", ["[" * 100_000, "x"])
async def test_structured_content_that_is_too_deep_is_left_out(text: str) -> None:
    answer = await read_answer({"content": [{"type": "text", "text": text}], "structuredContent": nested(5000)})
    assert answer.text.endswith("[the structured content is left out: it is nested too deeply]")


def test_a_tool_with_a_schema_that_is_too_deep_is_left_out() -> None:
    rows = list(read_tools([{"name": "a", "inputSchema": {"x": nested(5000)}}, {"name": "b"}]))
    assert rows[0] == "the tool a is left out: its schema is too large"
    assert getattr(rows[1], "name", None) == "b"


async def test_images_of_prompts_and_resources_are_told_of() -> None:
    said = await read_messages({"messages": [{"role": "user", "content": picture()}]})
    assert said == "[image/png, about 72 bytes: not shown]"
    row = {"uri": "a://b", "mimeType": "image/png", "blob": PNG}
    assert "[resource a://b]\n[image/png, about" in (await read_contents({"contents": [row]})).text
