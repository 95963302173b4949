"""Params of methods: a value of another type is refused by name."""

from pathlib import Path

import pytest

from north_lsp.acp import params as read
from north_lsp.rpc.messages import RpcError


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
