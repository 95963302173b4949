"""What the oracle has found valid stands for whatever the schema cannot tell from it, and for nothing else."""

from typing import Any

import pytest

from tests.support.acp_schema import Oracle
from tests.support.message_shapes import Shapes


def update(**content: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": content}}


def test_a_message_like_a_valid_one_is_still_refused_for_what_is_wrong_with_it() -> None:
    oracle = Oracle({"$defs": Oracle.load()._defs})
    for text in ("one", "two", ""):
        oracle.check_notification("session/update", update(type="text", text=text), "agent")
    for wrong in (
        {"type": "txt", "text": "one"},
        {"type": "text", "text": 1},
        {"type": "text"},
        {"type": "text", "txt": ""},
    ):
        with pytest.raises(AssertionError):
            oracle.check_notification("session/update", update(**wrong), "agent")


def test_shapes_differ_in_whatever_a_schema_speaks_of() -> None:
    of = Shapes({"A": {"const": "a"}, "B": {"type": "integer", "minimum": 1, "maximum": 9}}).of
    assert of("x") == of("y")
    assert of([3, 4, 5]) == of([3])
    assert of(5) == of(6)
    different: list[Any] = [
        "a",
        "x",
        "",
        0,
        1,
        5,
        9,
        10,
        1.5,
        True,
        False,
        None,
        [],
        [5],
        [1.5],
        {},
        {"n": 5},
        {"m": 5},
    ]
    assert len({of(value) for value in different}) == len(different)


def test_a_keyword_that_shapes_do_not_know_is_not_passed_over() -> None:
    for schema in (
        {"pattern": "^a"},
        {"items": {"maxItems": 1}},
        {"properties": {"a": {"enum": ["b"]}}},
        {"minItems": 2},
    ):
        with pytest.raises(AssertionError):
            Shapes({"A": schema})
