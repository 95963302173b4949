"""Params of methods: a value of another type is refused by name."""

import base64
from pathlib import Path

import pytest

from north_lsp.acp import params as read
from north_lsp.agent.log.prompt import Attached, PicturePart
from north_lsp.rpc.messages import RpcError
from tests.support.png import png


def test_a_flag_has_its_default_where_it_is_missing() -> None:
    assert read.flag({}, "raw") is False
    assert read.flag({}, "archived", default=True) is True
    assert read.flag({"archived": False}, "archived", default=True) is False


@pytest.mark.parametrize("value", [None, 0, 1, "true", []])
def test_a_flag_is_true_or_false(value: object) -> None:
    with pytest.raises(RpcError, match="raw must be true or false"):
        read.flag({"raw": value}, "raw")


def test_a_whole_number_has_its_default_where_it_is_missing() -> None:
    assert read.whole_number({}, "limit", 50, 1) == 50
    assert read.whole_number({"limit": 1}, "limit", 50, 1) == 1


@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, "3", []])
def test_a_whole_number_is_none_of_these(value: object) -> None:
    with pytest.raises(RpcError, match="limit must be a whole number, 1 or more"):
        read.whole_number({"limit": value}, "limit", 50, 1)


def test_a_path_may_be_missing_and_is_absolute() -> None:
    assert read.optional_path({}, "cwd") is None
    assert read.optional_path({"cwd": "/repo"}, "cwd") == Path("/repo")
    with pytest.raises(RpcError, match="cwd must be an absolute path"):
        read.optional_path({"cwd": "repo"}, "cwd")


def embedded(data: bytes, **more: object) -> object:
    blob = base64.b64encode(data).decode()
    (part,) = read.prompt_parts(
        {"prompt": [{"type": "resource", "resource": {"uri": "file:///x", "blob": blob, **more}}]}
    )
    return part


def test_an_embedded_resource_of_bytes_is_what_its_content_is() -> None:
    assert isinstance(embedded(png(4, 4), mimeType="text/plain"), PicturePart)
    assert embedded("some wörds".encode(), mimeType="image/png") == Attached("file:///x", "some wörds")
    assert embedded(b"") == Attached("file:///x", "")
    told = "neither a text nor a picture)"
    assert embedded(b"\0\1") == Attached("file:///x", f"(not shown: 2 bytes of an unknown kind, {told}")
    assert embedded(b"\xff", mimeType="a/b\nc") == Attached("file:///x", f"(not shown: 1 byte of a/b c, {told}")
